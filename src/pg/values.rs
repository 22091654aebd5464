//! Values of one SQL type, whichever it is: copied out of rows, kept in a file, compared, and given back.

use super::catalog::check_type;
use super::host::unwrap_or_raise;
use super::rows::{Column, Values, type_cache};
use super::settings::work_memory;
use super::spi::Argument;
use super::spill::TempFile;
use super::{raise_cardinality, raise_mismatch};
use dedup_core::external::{Record as Sortable, Sorter, Spill};
use dedup_core::groups::EdgeComponents;
use dedup_core::memory::{Grow, OrRaise, Room, collect, filled};
use pgrx::pg_sys;

/// The type of a query's column and the one that its values are given back as.
pub(crate) struct ValueType {
    /// Bytes of a value; -1 is a varlena, -2 a string that ends with a zero.
    length: i16,
    by_value: bool,
    /// Bytes of an integer that is given back as a wider one.
    widened: Option<i16>,
    column: pg_sys::Oid,
    collation: pg_sys::Oid,
    compare: pg_sys::FmgrInfo,
}

/// A function that the catalogue names.
fn function(oid: pg_sys::Oid) -> pg_sys::FmgrInfo {
    let mut function = pg_sys::FmgrInfo::default();
    // SAFETY: it exists.
    unsafe { pg_sys::fmgr_info(oid, &mut function) };
    function
}

/// The value of an integer of this type, `bigint` if it is another one.
pub(crate) fn whole(value: pg_sys::Datum, typoid: pg_sys::Oid) -> i64 {
    match typoid {
        pg_sys::INT2OID => i64::from(value.value() as i16),
        pg_sys::INT4OID => i64::from(value.value() as i32),
        _ => value.value() as i64,
    }
}

/// The bytes of an integer type.
fn integer(typoid: pg_sys::Oid) -> Option<i16> {
    match typoid {
        pg_sys::INT2OID => Some(2),
        pg_sys::INT4OID => Some(4),
        pg_sys::INT8OID => Some(8),
        _ => None,
    }
}

/// Bytes of a value that is passed by value.
const WORD: usize = size_of::<u64>();

impl ValueType {
    /// For ids of `column` that the polymorphic function `call` gives back as `result`; `call` is how it is called, up to the
    /// argument `id_type`. Raises 42804 if the result is of another type, or the column cannot be an id.
    pub(crate) fn of_result(column: &Column, result: pg_sys::Oid, call: &str) -> ValueType {
        ValueType::new(column, result).unwrap_or_else(|| {
            let name = column.type_name();
            let expected = Column::new("", result, pg_sys::InvalidOid);
            // A NULL of a domain would run the domain's checks, which somebody else may have written.
            let base = Column::new("", column.base_type(), pg_sys::InvalidOid).type_name();
            raise_mismatch(
                format!(
                    "the ids in column \"{}\" are {name}, those of the result {}",
                    column.name,
                    expected.type_name()
                ),
                format!("Give all arguments, the type last: {call}, id_type => NULL::{base})."),
            )
        })
    }

    /// For values of `column` that are given back as `result`; `None` if that is another type.
    /// Raises 42804 if the column is a row or an array, or has no order (btree); as [`check_type`] for both types.
    pub(crate) fn new(column: &Column, result: pg_sys::Oid) -> Option<ValueType> {
        [column.typoid, result].into_iter().for_each(|typoid| check_type(typoid, None));
        let cached = type_cache(column.typoid, pg_sys::TYPECACHE_CMP_PROC);
        if !column.is_scalar() || cached.cmp_proc == pg_sys::InvalidOid {
            raise_mismatch(
                format!("column \"{}\" of type {} cannot be an id", column.name, column.type_name()),
                "Cast it to bigint, text, uuid or another type whose values have an order; neither rows nor arrays are ids.",
            )
        }
        let bytes = integer(column.base_type());
        let widened = bytes.zip(integer(result)).filter(|(from, to)| from < to).map(|(from, _)| from);
        // SAFETY: any oid is answered.
        if widened.is_none() && !unsafe { pg_sys::IsBinaryCoercible(column.typoid, result) } {
            return None;
        }
        let (mut length, mut by_value) = (0, false);
        // SAFETY: any oid is answered.
        unsafe { pg_sys::get_typlenbyval(result, &mut length, &mut by_value) };
        let collation = Some(column.collation).filter(|&oid| oid != pg_sys::InvalidOid);
        let (collation, compare) = (collation.unwrap_or(cached.typcollation), function(cached.cmp_proc));
        Some(ValueType { length, by_value, widened, column: column.typoid, collation, compare })
    }

    pub(crate) fn write_id(&self, row: &Values<'_>, into: &mut Vec<u8>) {
        assert_eq!(row.columns[0].typoid, self.column);
        // SAFETY: the value is of the column's type.
        unsafe { self.write(row.id(), into) }
    }

    /// Appends a value's bytes.
    ///
    /// # Safety
    /// `value` is of the column's type.
    pub(crate) unsafe fn write(&self, value: pg_sys::Datum, into: &mut Vec<u8>) {
        if self.by_value {
            let word = match self.widened {
                Some(2) => i64::from(value.value() as i16).cast_unsigned(),
                Some(_) => i64::from(value.value() as i32).cast_unsigned(),
                None => value.value() as u64,
            };
            into.room(WORD).or_raise();
            into.extend_from_slice(&word.to_le_bytes());
            return;
        }
        // SAFETY: the caller's promise: the value is stored as its type says; only a copy that was made here is freed.
        unsafe {
            let stored: *mut u8 = value.cast_mut_ptr();
            let plain = match self.length {
                -1 => pg_sys::pg_detoast_datum(stored.cast()).cast::<u8>(),
                _ => stored,
            };
            let length = match self.length {
                -1 => pgrx::varsize_any(plain.cast()),
                -2 => std::ffi::CStr::from_ptr(plain.cast()).to_bytes_with_nul().len(),
                length => length as usize,
            };
            into.room(length).or_raise();
            into.extend_from_slice(std::slice::from_raw_parts(plain, length));
            if plain != stored {
                pg_sys::pfree(plain.cast());
            }
        }
    }

    /// A value of the result's type; one that is passed by reference is made in PostgreSQL's current memory.
    ///
    /// # Safety
    /// [`ValueType::write`] has written the bytes.
    pub(crate) unsafe fn make(&self, bytes: &[u8]) -> pg_sys::Datum {
        if self.by_value {
            let word = bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            return pg_sys::Datum::from(word);
        }
        // SAFETY: the memory has room for the bytes.
        unsafe {
            let copy: *mut u8 = pg_sys::palloc(bytes.len()).cast();
            copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            pg_sys::Datum::from(copy)
        }
    }

    /// Values of the result's type as an array of the type `array`.
    ///
    /// # Safety
    /// [`ValueType::write`] has written the bytes, and `array` is the type of arrays of the result's type.
    pub(crate) unsafe fn array(&self, values: &[Vec<u8>], array: pg_sys::Oid) -> Argument {
        let (mut length, mut by_value, mut align) = (0, false, 0);
        // SAFETY: the caller's promise.
        unsafe {
            let element = pg_sys::get_element_type(array);
            pg_sys::get_typlenbyvalalign(element, &mut length, &mut by_value, &mut align);
            let mut made = collect(values.iter().map(|bytes| self.make(bytes))).or_raise();
            let count = made.len() as i32;
            let made =
                pg_sys::construct_array(made.as_mut_ptr(), count, element, length.into(), by_value, align);
            Argument::of_type(pg_sys::Datum::from(made), array)
        }
    }

    /// The value whose bytes, as [`ValueType::write`] writes them, `words` begin with; while these live.
    fn datum(&self, words: &[u64]) -> pg_sys::Datum {
        if self.by_value { pg_sys::Datum::from(words[0]) } else { pg_sys::Datum::from(words.as_ptr()) }
    }

    /// Below 0, 0 or above as `a` comes before `b`, equals it or comes after it in the type's btree order.
    ///
    /// # Safety
    /// Both are values of the result's type.
    unsafe fn compare(&mut self, a: pg_sys::Datum, b: pg_sys::Datum) -> i32 {
        if self.widened.is_some() {
            return (a.value() as i64).cmp(&(b.value() as i64)) as i32;
        }
        // SAFETY: the comparison is that of the type.
        unsafe { pg_sys::FunctionCall2Coll(&mut self.compare, self.collation, a, b).value() as i32 }
    }
}

/// Ids by numbers: an integer is its own number, any other id waits in a temporary file, and its place there is its number.
pub(crate) struct Ids {
    of: ValueType,
    file: TempFile,
    length: u64,
    record: Vec<u8>,
}

/// Before an id of no fixed length in the file stands its length.
const HEADER: usize = 4;

impl Ids {
    pub(crate) fn new(of: ValueType) -> Ids {
        Ids { of, file: TempFile::new(), length: 0, record: Vec::new() }
    }

    /// Takes an id; its number.
    ///
    /// # Safety
    /// `id` is of the column's type.
    pub(crate) unsafe fn add(&mut self, id: pg_sys::Datum) -> i64 {
        self.record.clear();
        if !self.of.by_value {
            self.record.extend_from_slice(&[0; HEADER]);
        }
        // SAFETY: the caller's promise.
        unsafe { self.of.write(id, &mut self.record) };
        if self.of.by_value {
            return self.record.first_chunk().map_or(0, |word| i64::from_le_bytes(*word));
        }
        // No value of PostgreSQL is longer than 1 GB.
        let length = (self.record.len() - HEADER) as u32;
        self.record[..HEADER].copy_from_slice(&length.to_le_bytes());
        unwrap_or_raise(self.file.append(&self.record));
        let number = self.length;
        self.length += self.record.len() as u64;
        number.cast_signed()
    }

    pub(crate) fn get(&mut self, number: i64) -> pg_sys::Datum {
        if self.of.by_value {
            return pg_sys::Datum::from(number);
        }
        let at = number.cast_unsigned();
        let mut header = [0; HEADER];
        unwrap_or_raise(self.file.read(at, &mut header));
        let mut bytes = filled(0, u32::from_le_bytes(header) as usize).or_raise();
        unwrap_or_raise(self.file.read(at + HEADER as u64, &mut bytes));
        // SAFETY: `add` has written the bytes.
        unsafe { self.of.make(&bytes) }
    }

    /// Two ids by their numbers, the lesser in the type's order first.
    pub(crate) fn pair(&mut self, a: i64, b: i64) -> [pg_sys::Datum; 2] {
        let [a, b] = [self.get(a), self.get(b)];
        // SAFETY: `get` has made both.
        if unsafe { self.of.compare(a, b) > 0 } { [b, a] } else { [a, b] }
    }
}

/// Sees to it that no two rows of a query have one id, by the equality of the ids' type.
pub(crate) struct UniqueIds {
    /// What ids that are no integers are hashed by, and where they wait.
    others: Option<Hashed>,
    /// Integers that follow each other, as first and last; of others the hash and the number.
    seen: Sorter<Seen, TempFile>,
    last: Option<Seen>,
    column: Column,
}

struct Hashed {
    ids: Ids,
    hash: pg_sys::FmgrInfo,
    seed: u64,
    record: Vec<u8>,
    words: Vec<u64>,
    /// The type has no hash or no order of PostgreSQL's own: its text form tells ids apart.
    by_text: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen(u64, u64);

impl Sortable for Seen {
    const BYTES: usize = 16;

    fn to_parts(self) -> (u32, u64, u64) {
        (0, self.0, self.1)
    }

    fn from_parts(_: u32, first: u64, last: u64) -> Self {
        Seen(first, last)
    }
}

impl UniqueIds {
    pub(crate) fn new(column: &Column) -> UniqueIds {
        let base = column.base_type();
        let others = integer(base).is_none().then(|| Hashed::new(column));
        let typoid = match &others {
            Some(Hashed { by_text: true, .. }) => pg_sys::TEXTOID,
            _ => base,
        };
        let seen = Sorter::new(work_memory() / 8, TempFile::new());
        UniqueIds { others, seen, last: None, column: Column::new("id", typoid, column.collation) }
    }

    /// Takes the id of a row, in its first column.
    pub(crate) fn add(&mut self, row: &Values<'_>) {
        let Some(id) = row.get(0) else { return };
        if let Some(others) = &mut self.others {
            let seen = others.seen(row, id);
            return unwrap_or_raise(self.seen.add(seen));
        }
        // In the order of unsigned numbers.
        let id = whole(id, self.column.typoid).cast_unsigned() ^ 1 << 63;
        match &mut self.last {
            Some(Seen(_, last)) if last.checked_add(1) == Some(id) => *last = id,
            last => {
                if let Some(before) = last.replace(Seen(id, id)) {
                    unwrap_or_raise(self.seen.add(before));
                }
            }
        }
    }

    /// Raises 21000 if an id was there twice.
    pub(crate) fn check(self) {
        let UniqueIds { mut others, mut seen, last, column } = self;
        if let Some(last) = last {
            unwrap_or_raise(seen.add(last));
        }
        let mut before: Option<Seen> = None;
        // Of one hash; hardly ever more than one.
        let mut alike: Vec<u64> = Vec::new();
        unwrap_or_raise(seen.finish(|next| {
            let Some(Hashed { ids, .. }) = &mut others else {
                if before.is_some_and(|before| next.0 <= before.1) {
                    refuse_twice(&column, pg_sys::Datum::from(next.0 ^ 1 << 63))
                }
                before = Some(next);
                return Ok(());
            };
            if before.is_none_or(|before| before.0 != next.0) {
                alike.clear();
            }
            for &number in &alike {
                let [a, b] = [number, next.1].map(|number| ids.get(number.cast_signed()));
                // SAFETY: both are values of the type.
                if unsafe { ids.of.compare(a, b) == 0 } {
                    refuse_twice(&column, b)
                }
            }
            before = Some(next);
            alike.grow(next.1)?;
            Ok(())
        }));
    }
}

impl Hashed {
    fn new(column: &Column) -> Hashed {
        let built_in = |function: pg_sys::Oid| (1..pg_sys::FirstNormalObjectId).contains(&function.to_u32());
        let cached =
            |typoid| type_cache(typoid, pg_sys::TYPECACHE_HASH_EXTENDED_PROC | pg_sys::TYPECACHE_CMP_PROC);
        let base = column.base_type();
        let its = cached(base);
        let by_text = !column.is_scalar() || !built_in(its.hash_extended_proc) || !built_in(its.cmp_proc);
        let collation = if by_text { pg_sys::DEFAULT_COLLATION_OID } else { column.collation };
        let base = Column::new(&column.name, if by_text { pg_sys::TEXTOID } else { base }, collation);
        let of = ValueType::new(&base, base.typoid).unwrap_or_else(|| unreachable!("a type is its own"));
        let hash = function(cached(base.typoid).hash_extended_proc);
        // SAFETY: plain reads of variables.
        let seed = unsafe { pg_sys::MyStartTimestamp as u64 ^ pg_sys::MyProcPid as u64 };
        Hashed { ids: Ids::new(of), hash, seed, record: Vec::new(), words: Vec::new(), by_text }
    }

    fn seen(&mut self, row: &Values<'_>, id: pg_sys::Datum) -> Seen {
        let Hashed { ids, hash, seed, record, words, by_text } = self;
        record.clear();
        if *by_text {
            let written = row.written(0).unwrap_or_default();
            // SAFETY: the bytes are there; the copy is freed when its own copy is made.
            unsafe {
                let text = pg_sys::cstring_to_text_with_len(written.as_ptr().cast(), written.len() as i32);
                ids.of.write(pg_sys::Datum::from(text), record);
                pg_sys::pfree(text.cast());
            }
        } else {
            // SAFETY: the value is of the column's type, and so of its base.
            unsafe { ids.of.write(id, record) };
        }
        words.clear();
        append(record, words);
        let value = ids.of.datum(words);
        // SAFETY: the function is that of the type, whose value it is.
        unsafe {
            let hashed = pg_sys::FunctionCall2Coll(hash, ids.of.collation, value, pg_sys::Datum::from(*seed));
            Seen(hashed.value() as u64, ids.add(value).cast_unsigned())
        }
    }
}

/// Appends the bytes of a value where one of any type may begin.
fn append(record: &[u8], words: &mut Vec<u64>) {
    words.room(record.len().div_ceil(WORD)).or_raise();
    words.extend(record.chunks(WORD).map(|chunk| {
        let mut word = [0; WORD];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
}

fn refuse_twice(column: &Column, id: pg_sys::Datum) -> ! {
    let row = Values { columns: std::slice::from_ref(column), values: &[id], nulls: &[false] };
    raise_cardinality(
        format!("two rows of the source have the id {}", row.written(0).unwrap_or_default()),
        "The id, a query's first column, tells rows apart. For a table option id names another column, here or in dedup_setup.",
    )
}

/// Ids in memory, each once, by numbers from 0.
pub(crate) struct DistinctIds {
    of: ValueType,
    /// `None` for integers, which are their own.
    hash: Option<pg_sys::FmgrInfo>,
    /// The values, each where one of any type may begin.
    words: Vec<u64>,
    /// Where each begins.
    starts: Vec<usize>,
    record: Vec<u8>,
}

impl DistinctIds {
    /// No ids yet; `result` is the type that `of` gives back. Raises 42804 if its values have no hash.
    pub(crate) fn new(of: ValueType, result: pg_sys::Oid) -> DistinctIds {
        let column = Column::new("", result, pg_sys::InvalidOid);
        let hash = integer(column.base_type()).is_none().then(|| {
            let hash = type_cache(result, pg_sys::TYPECACHE_HASH_PROC).hash_proc;
            if hash == pg_sys::InvalidOid {
                raise_mismatch(
                    format!("values of type {} have no hash", column.type_name()),
                    "Cast the ids to bigint, text, uuid or another type whose values have one.",
                )
            }
            function(hash)
        });
        DistinctIds { of, hash, words: Vec::new(), starts: Vec::new(), record: Vec::new() }
    }

    /// The number of an id that a column of the type `column` has, in a graph whose nodes are these ids.
    ///
    /// # Safety
    /// `id` is of the type of that column.
    pub(crate) unsafe fn node(
        &mut self,
        id: pg_sys::Datum,
        column: &ValueType,
        graph: &mut EdgeComponents,
    ) -> u32 {
        let DistinctIds { of, hash, words, starts, record } = self;
        record.clear();
        // SAFETY: the caller's promise.
        unsafe { column.write(id, record) };
        let start = words.len();
        append(record, words);
        starts.room(1).or_raise();
        let new = of.datum(&words[start..]);
        let value = match hash {
            None => new.value() as u64,
            // SAFETY: the function is that of the type.
            Some(hash) => unsafe { pg_sys::FunctionCall1Coll(hash, of.collation, new) }.value() as u32 as u64,
        };
        // SAFETY: all are values of the type. An integer is known by its hash.
        let is = |node: u32| {
            // SAFETY: the same.
            hash.is_none() || unsafe { of.compare(of.datum(&words[starts[node as usize]..]), new) } == 0
        };
        let node = graph.node(value, is).or_raise();
        if node as usize == starts.len() {
            starts.push(start);
        } else {
            words.truncate(start);
        }
        node
    }

    /// The id of a number; it is gone when another is taken.
    pub(crate) fn get(&self, number: u32) -> pg_sys::Datum {
        self.of.datum(&self.words[self.starts[number as usize]..])
    }

    pub(crate) fn is_less(&mut self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|number| self.get(number));
        // SAFETY: both are values of the type.
        unsafe { self.of.compare(a, b) < 0 }
    }
}
