//! A way through the state space as short text: which of the enabled steps was taken, again and again.
//!
//! The first 36 choices are one character each (`0`–`9`, `a`–`z`), larger ones stand in brackets: `01(40)2`
//! takes the first step, the second, the forty-first, the third. So a path fits into a link.

/// Longer paths are refused.
pub(crate) const LONGEST: usize = 1_000_000;

/// The choices behind the text; `None` if it is no path.
pub(crate) fn read(text: &str) -> Option<Vec<u32>> {
    let mut choices = Vec::with_capacity(text.len().min(LONGEST));
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if choices.len() == LONGEST {
            return None;
        }
        choices.push(match letter {
            '(' => {
                let (number, behind) = rest.as_str().split_once(')')?;
                rest = behind.chars();
                number.parse().ok()?
            }
            'A'..='Z' => return None,
            _ => letter.to_digit(36)?,
        });
    }
    Some(choices)
}

/// The text of a path.
pub(crate) fn write(choices: &[u32]) -> String {
    let mut text = String::with_capacity(choices.len());
    for choice in choices {
        match char::from_digit(*choice, 36) {
            Some(letter) if *choice < 36 => text.push(letter),
            _ => text.push_str(&format!("({choice})")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_to_text_and_back() {
        let mut random = 7_u32;
        for length in 0..200 {
            let choices: Vec<u32> = (0..length)
                .map(|_| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (random >> 16) % 80
                })
                .collect();
            assert_eq!(read(&write(&choices)), Some(choices));
        }
        assert_eq!(write(&[0, 35, 36, 1]), "0z(36)1");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["(", "(1", "()", "(-1)", "(99999999999)", "A", " ", "0/1", "é", "٣"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"0".repeat(LONGEST + 1)), None);
        assert_eq!(read(&"0".repeat(LONGEST)).map(|choices| choices.len()), Some(LONGEST));
    }
}
