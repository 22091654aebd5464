//! What is read, and by which settings: a table or a query, the settings that a table was given, and those that are chosen
//! by the texts.

mod beside;
mod decisions;
mod generated;
mod options;
mod pairs;
mod relation;
mod settings;
mod source;
mod stored;
mod suggest;
mod texts;

pub(crate) use beside::{
    check_owner, check_plain, check_written, hindrance, is_put_back, name_beside, putting_back,
};
pub(crate) use decisions::DecisionTable;
pub(crate) use generated::{Generated, Searched, search_index};
pub(crate) use options::{
    Options, Written, as_jsonb, literal, parse_options, raise_wrong, read_options, refuse_option,
};
pub(crate) use pairs::{as_key, each_pair, key, two_ids};
pub(crate) use relation::{Table, TableColumn, parts, table_name, table_named, way_to_text};
pub(crate) use settings::{Settings, chosen_by, has_doubled, refuse_hash};
pub(crate) use source::{FINGERPRINTS, Source, Wanted, two_columns};
pub(crate) use stored::{ID, KEEP};
pub(crate) use suggest::{
    DETAILS, SAMPLE, Sampler, announce, announce_implied, choose_columns, column_kept_by, distance_of_hashes,
    hash_column, learn_records, sample, statistics,
};
pub(crate) use texts::{content, join_texts, joined, running};
