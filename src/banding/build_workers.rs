//! A build reads the table on parallel workers, as PostgreSQL's own builds do: the backend and each worker take blocks of the
//! one scan that they share, and evaluate the index's expressions and predicate. Workers send their rows to the backend,
//! which alone sorts and writes, so that the index is the same whoever has read a row.

use super::IndexRelation;
use super::heap::Rows;
use super::scope::is_parallel_safe;
use crate::pg::{
    version::build_workers, version::since_19, workers::ALIGNED, workers::Leader, workers::Workers,
    workers::work,
};
use dedup_core::banding::Tid;
use pgrx::{debug1, pg_guard, pg_sys};
use std::ptr::null_mut;

/// Words that an entry takes in a message: its fingerprint, its pointer, its scope with a flag for NULL.
const WORDS: usize = 3;
const MESSAGE: usize = 340 * WORDS;
/// Rows of its own after which the backend looks for messages.
const TURN: u32 = 64;

/// What workers need to know; the shared scan follows in memory.
#[repr(C)]
struct Task {
    heap: pg_sys::Oid,
    index: pg_sys::Oid,
    concurrent: bool,
}

/// Where the shared scan begins.
const SCAN: usize = size_of::<Task>().next_multiple_of(ALIGNED);

fn encode(scope: u32, fingerprint: Option<u64>, tid: Tid) -> [u64; WORDS] {
    let scope = u64::from(scope) | u64::from(fingerprint.is_none()) << 32;
    [fingerprint.unwrap_or(0), tid.bits(), scope]
}

fn decode([fingerprint, place, scope]: [u64; WORDS]) -> (u32, Option<u64>, Tid) {
    let fingerprint = (scope >> 32 == 0).then_some(fingerprint);
    (scope as u32, fingerprint, Tid::from_bits(place))
}

/// Calls `take` for each entry of each row of a build, in any order, and returns the number of rows.
///
/// # Safety
/// As [`Rows::each`], in a build.
pub(super) unsafe fn each(rows: &Rows, mut take: impl FnMut(u32, Option<u64>, Tid)) -> f64 {
    // SAFETY: the caller's promise. A snapshot of all rows, or as a serial scan takes it for a concurrent build: it is
    // registered until the workers have ended. The shared memory has room for the scan.
    unsafe {
        // The index of an empty table is built too, by TRUNCATE for one. PostgreSQL has looked at expressions and predicate.
        let blocks = pg_sys::RelationGetNumberOfBlocksInFork(rows.heap, pg_sys::ForkNumber::MAIN_FORKNUM);
        let serial = blocks == 0 || !is_parallel_safe(rows.index);
        let count = if serial { 0 } else { build_workers(rows.heap, rows.index.as_ptr(), rows.info) };
        if count == 0 {
            return rows.each(null_mut(), true, take);
        }
        let concurrent = (*rows.info).ii_Concurrent;
        let snapshot = match concurrent {
            true => pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()),
            false => &raw mut pg_sys::SnapshotAnyData,
        };
        let bytes = SCAN + pg_sys::table_parallelscan_estimate(rows.heap, snapshot);
        let mut scan = null_mut();
        let workers = Workers::start(c"pg_dedup_build_worker", count, bytes, |shared| {
            let task = Task { heap: (*rows.heap).rd_id, index: rows.index.rd_id, concurrent };
            shared.cast::<Task>().write(task);
            scan = shared.byte_add(SCAN).cast();
            pg_sys::table_parallelscan_initialize(rows.heap, scan, snapshot);
        });
        let read = match workers {
            Some(workers) => share(rows, workers, scan, &mut take),
            None => rows.each(null_mut(), true, take),
        };
        if concurrent {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        read
    }
}

/// Reads the backend's share, and takes the workers' rows in between and to the end.
///
/// # Safety
/// As [`each`]; the scan is the one that the workers share.
unsafe fn share(
    rows: &Rows,
    mut workers: Workers,
    scan: pg_sys::ParallelTableScanDesc,
    take: &mut impl FnMut(u32, Option<u64>, Tid),
) -> f64 {
    let (mut theirs, mut broken) = (0.0, false);
    let mut taken = |message: &[u64], take: &mut dyn FnMut(u32, Option<u64>, Tid)| {
        let (message, end) = message.as_chunks();
        for &row in message {
            let (scope, fingerprint, tid) = decode(row);
            take(scope, fingerprint, tid);
        }
        if let &[read, is_broken] = end {
            theirs += f64::from_bits(read);
            broken |= is_broken != 0;
        }
        !end.is_empty()
    };
    // SAFETY: the caller's promise.
    unsafe {
        let scan = since_19!(table_beginscan_parallel(rows.heap, scan); 0);
        let mut turn = 0;
        let own = rows.each(scan, true, |scope, fingerprint, tid| {
            take(scope, fingerprint, tid);
            turn = (turn + 1) % TURN;
            if turn == 0 {
                workers.receive(|message| taken(message, take));
            }
        });
        workers.receive_all(|message| taken(message, take));
        let count = workers.count();
        workers.end();
        debug1!("{count} parallel workers have read {theirs} of {} rows", own + theirs);
        (*rows.info).ii_BrokenHotChain |= broken;
        own + theirs
    }
}

/// Where a worker begins; PostgreSQL finds it by its name.
#[pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pg_dedup_build_worker(
    segment: *mut pg_sys::dsm_segment,
    contents: *mut pg_sys::shm_toc,
) {
    // SAFETY: PostgreSQL passes what belongs to the context that `each` has made. The locks are those that the backend holds.
    unsafe {
        work(segment, contents, |shared, leader| {
            let task = shared.cast::<Task>().read();
            let (lock_heap, lock_index) = match task.concurrent {
                false => (pg_sys::ShareLock, pg_sys::AccessExclusiveLock),
                true => (pg_sys::ShareUpdateExclusiveLock, pg_sys::RowExclusiveLock),
            };
            let heap = pg_sys::table_open(task.heap, lock_heap as i32);
            let index = pg_sys::index_open(task.index, lock_index as i32);
            let info = pg_sys::BuildIndexInfo(index);
            (*info).ii_Concurrent = task.concurrent;
            let scan = since_19!(table_beginscan_parallel(heap, shared.byte_add(SCAN).cast()); 0);
            send_rows(&Rows { heap, index: IndexRelation::new(index), info }, scan, leader);
            pg_sys::index_close(index, lock_index as i32);
            pg_sys::table_close(heap, lock_heap as i32);
        })
    }
}

/// Sends a worker's share; behind the last rows stand how many it has read and whether a chain of versions was broken.
///
/// # Safety
/// As [`Rows::each`].
unsafe fn send_rows(rows: &Rows, scan: pg_sys::TableScanDesc, leader: &mut Leader) {
    let mut message = Vec::with_capacity(MESSAGE + WORDS);
    // SAFETY: the caller's promise.
    unsafe {
        let read = rows.each(scan, false, |scope, fingerprint, tid| {
            message.extend(encode(scope, fingerprint, tid));
            if message.len() == MESSAGE {
                leader.send(&message);
                message.clear();
            }
        });
        message.extend([read.to_bits(), u64::from((*rows.info).ii_BrokenHotChain)]);
        leader.send(&message);
    }
}
