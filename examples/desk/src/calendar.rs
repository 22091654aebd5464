//! Days counted from 2019-01-01, and the filing times of the rows.

/// Days from 2019-01-01 to 2024-12-31, both included.
pub const DAYS: u64 = 2192;

/// The desk takes petitions from 08:00 for thirteen hours.
const OPEN: u64 = 8 * 3600;
const OPEN_SECONDS: f64 = 13.0 * 3600.0;

/// Year, month and day of a day counted from 2019-01-01 (it may be negative).
pub fn date(day: i64) -> (u64, u64, u64) {
    // Days since 0000-03-01, after Hinnant's civil_from_days.
    let z = day + 17_897 + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097) as u64;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era as u64 * 400 + u64::from(month <= 2);
    (year, month, doy - (153 * mp + 2) / 5 + 1)
}

/// Day and second of the day of row `row` of `rows`; `jitter` is in `[0, 1)`.
/// A later row is filed later, by at least two seconds up to ten million rows.
pub fn filed(row: u64, rows: u64, jitter: f64) -> (i64, u64) {
    let at = (row as f64 + 0.8 * jitter) / rows as f64 * DAYS as f64;
    let second = OPEN + ((at - at.floor()) * OPEN_SECONDS) as u64;
    (at.floor() as i64, second)
}

/// Appends `2019-01-01 08:00:00`.
pub fn push_timestamp(day: i64, second: u64, out: &mut String) {
    let (year, month, dom) = date(day);
    let mut pair = |n: u64, before: &str| {
        out.push_str(before);
        out.push((b'0' + (n / 10) as u8) as char);
        out.push((b'0' + (n % 10) as u8) as char);
    };
    pair(year / 100, "");
    pair(year % 100, "");
    pair(month, "-");
    pair(dom, "-");
    pair(second / 3600, " ");
    pair(second / 60 % 60, ":");
    pair(second % 60, ":");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_day() {
        assert_eq!(date(0), (2019, 1, 1));
        assert_eq!(date(-1), (2018, 12, 31));
        assert_eq!(date(424), (2020, 2, 29));
        assert_eq!(date(DAYS as i64 - 1), (2024, 12, 31));
    }

    #[test]
    fn ten_million_rows_are_filed_one_after_the_other() {
        let rows = 10_000_000;
        for row in (0..rows - 1).step_by(997) {
            assert!(filed(row, rows, 0.999) < filed(row + 1, rows, 0.0), "row {row}");
        }
    }
}
