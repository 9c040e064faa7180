//! Numbers with a unit, as they stand on a command line.

use std::time::Duration;

/// Reads `4`, or `auto` for as many threads as the machine runs at once.
pub fn parse_threads(text: &str) -> Result<usize, String> {
    if text == "auto" {
        return Ok(std::thread::available_parallelism().map_or(1, usize::from));
    }
    match text.parse::<usize>() {
        Ok(0) | Err(_) => Err("a number of threads from 1 on, or `auto`".into()),
        Ok(threads) => Ok(threads),
    }
}

/// Reads `90s`, `1.5m`, `1h`, `250ms`; a bare number counts seconds.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let seconds = match &text[at..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("`{unit}` is not a unit of time (ms, s, m, h)")),
    };
    let number: f64 =
        text[..at].parse().map_err(|_| format!("`{text}` is not a time such as 90s"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| format!("`{text}` is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse_time("3 fortnights").is_err());
        assert!(parse_time("-3s").is_err());
    }

    #[test]
    fn there_is_at_least_one_thread() {
        assert_eq!(parse_threads("3"), Ok(3));
        assert!(parse_threads("auto").is_ok_and(|threads| threads > 0));
        assert!(parse_threads("0").is_err() && parse_threads("many").is_err());
    }
}
