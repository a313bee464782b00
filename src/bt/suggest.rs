//! Finds the nearest name for a "did you mean" hint.

/// Maximum length of compared names. Names that people type are shorter, and the cost is proportional to both lengths.
const MAX_LENGTH: usize = 64;

/// Maximum number of compared candidates. A file may define a million trees and call a million others.
const MAX_CANDIDATES: usize = 2000;

/// The candidate that `name` probably means, or `None` if none is near.
///
/// A candidate is near if it is equal except for case and separators, or if at most a third of the letters differ (a
/// swap of two neighbours counts once). The first of equally near candidates wins.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let typed = letters(name)?;
    let folded = fold(&typed);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MAX_CANDIDATES) {
        let Some(meant) = letters(candidate).filter(|_| candidate != name) else {
            continue;
        };
        let allowed = typed.len().max(meant.len()).div_ceil(3);
        let distance = if fold(&meant) == folded {
            0
        } else if typed.len().abs_diff(meant.len()) <= allowed {
            distance(&typed, &meant)
        } else {
            continue;
        };
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Whether two names differ by a typing error: by one letter, or two of a long name. Names that differ in digits only,
/// as `path_1` and `path_2`, are different names.
pub(crate) fn is_typo(a: &str, b: &str) -> bool {
    const SHORT: usize = 4;
    const LONG: usize = 8;
    let (Some(left), Some(right)) = (letters(a), letters(b)) else {
        return false;
    };
    let without_digits =
        |name: &[char]| -> Vec<char> { name.iter().copied().filter(|it| !it.is_ascii_digit()).collect() };
    let least = left.len().min(right.len());
    a != b
        && least >= SHORT
        && without_digits(&left) != without_digits(&right)
        && (fold(&left) == fold(&right) || distance(&left, &right) <= if least < LONG { 1 } else { 2 })
}

/// The letters of a name, or `None` if the name is too long.
fn letters(name: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = name.chars().take(MAX_LENGTH + 1).collect();
    (!letters.is_empty() && letters.len() <= MAX_LENGTH).then_some(letters)
}

fn fold(letters: &[char]) -> Vec<char> {
    letters
        .iter()
        .filter(|letter| !matches!(letter, '_' | '-' | ' '))
        .flat_map(|letter| letter.to_lowercase())
        .collect()
}

/// Edit distance with swaps of neighbours (optimal string alignment), in three rows.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = last.clone();
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + differs);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_name() {
        let nodes = [
            "Sequence",
            "ReactiveSequence",
            "Fallback",
            "ComputePathToPose",
            "num_attempts",
            "goal",
        ];
        for (typed, meant) in [
            ("Sequnce", Some("Sequence")),
            ("Seqeunce", Some("Sequence")),
            ("fallback", Some("Fallback")),
            ("compute_path_to_pose", Some("ComputePathToPose")),
            ("numAttempts", Some("num_attempts")),
            ("goals", Some("goal")),
            ("Spin", None),
            ("", None),
            ("Sequence", None),
        ] {
            assert_eq!(nearest(typed, nodes), meant, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), nodes), None);
    }

    #[test]
    fn a_typo_is_one_letter_or_two_of_a_long_name() {
        for (a, b, expected) in [
            ("path", "patth", true),
            ("path", "Path", true),
            ("smoothed_path", "smothed_paht", true),
            ("path", "path_2", false),
            ("path_1", "path_2", false),
            ("path", "pose", false),
            ("path", "path", false),
            ("x", "y", false),
        ] {
            assert_eq!(is_typo(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("abc", "acb", 1),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("ab", "ab", 0),
        ] {
            let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(distance(&a, &b), expected);
        }
    }
}
