//! `navtree log`: tells a recorded run.

use std::path::PathBuf;

use super::{Exit, errln, outln};
use crate::record::Recording;
use crate::record::story::tell;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recordings.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object per recording.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    let mut exit = Exit::Success;
    for file in &arguments.files {
        let recording = match Recording::read(file) {
            Ok(recording) => recording,
            Err(error) => {
                errln!("navtree log: {}: {error}", file.display());
                exit = Exit::Failed;
                continue;
            }
        };
        let story = tell(&recording.navigation, &recording.records);
        if arguments.json {
            let lines: Vec<_> = story
                .lines
                .iter()
                .map(|line| serde_json::json!({"at": line.at.as_secs_f64(), "text": line.text}))
                .collect();
            outln!(
                "{}",
                serde_json::json!({"title": story.title, "lines": lines, "end": story.end})
            );
        } else {
            super::out(&story.to_string());
        }
        if let Some(damage) = &recording.damage {
            errln!(
                "{}: the rest of the file cannot be read: {damage}",
                file.display()
            );
        }
    }
    exit
}
