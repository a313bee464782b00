//! A port for the quality of service.

use crate::bt::{Input, Ports, Text};

/// The quality of service of a topic port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Quality {
    pub(super) depth: u16,
    pub(super) reliable: bool,
    pub(super) transient_local: bool,
}

impl Quality {
    const DEFAULT: Self = Self {
        depth: 10,
        reliable: true,
        transient_local: false,
    };

    /// The port `qos`. An invalid literal is refused when the tree is loaded.
    pub(super) fn bind(ports: &mut Ports<'_>) -> Input<Text> {
        let port = ports
            .input::<Text>("qos")
            .default("default")
            .doc(
                "Words of: reliable, best_effort, volatile, transient_local, depth=N; or one of default, \
                latched, sensor_data. A published message that is latched (transient_local) stays available after \
                its tree was replaced; on more than 64 such topics, the one that was used first loses it.",
            )
            .bind();
        if let Some(Err(fault)) = port.literal().map(|text| Self::parse(text)) {
            ports.problem_of("qos", fault);
        }
        port
    }

    /// Parses the words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut quality = Self::DEFAULT;
        for word in text.split([' ', ',', ';']).filter(|word| !word.is_empty()) {
            match word {
                "default" => quality = Self::DEFAULT,
                "latched" => {
                    quality = Self {
                        depth: 1,
                        reliable: true,
                        transient_local: true,
                    }
                }
                "sensor_data" => {
                    quality = Self {
                        depth: 5,
                        reliable: false,
                        transient_local: false,
                    }
                }
                "reliable" => quality.reliable = true,
                "best_effort" => quality.reliable = false,
                "volatile" => quality.transient_local = false,
                "transient_local" => quality.transient_local = true,
                _ => match word.strip_prefix("depth=").map(str::parse) {
                    Some(Ok(depth)) if depth > 0 => quality.depth = depth,
                    _ => {
                        return Err(format!(
                            "qos: `{word}` is not one of reliable, best_effort, volatile, transient_local, depth=N, default, latched, sensor_data"
                        ));
                    }
                },
            }
        }
        Ok(quality)
    }
}

#[cfg(test)]
mod tests {
    use super::Quality;

    #[test]
    fn words_are_combined() {
        let quality = Quality::parse("sensor_data, depth=1").unwrap();
        assert_eq!((quality.depth, quality.reliable), (1, false));
        assert_eq!(Quality::parse(""), Ok(Quality::DEFAULT));
        assert!(Quality::parse("latched").unwrap().transient_local);
        for text in ["fast", "depth=0", "depth=", "depth=99999"] {
            assert!(Quality::parse(text).is_err(), "{text}");
        }
    }
}
