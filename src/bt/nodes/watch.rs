//! What the nodes share that wait for an entry to change.

use crate::bt::scope::{PortText, port_text};
use crate::bt::script::Access;
use crate::bt::{Context, Input, Ports, SlotId, Value};

/// A port that names an entry: `{key}`, or the bare key.
#[derive(Debug)]
pub(super) struct Watch {
    slot: Option<SlotId>,
}

impl Watch {
    pub(super) fn bind(ports: &mut Ports<'_>) -> Self {
        let dialect = ports.dialect();
        let bare = ports.raw("entry").filter(|text| {
            // Only a pointer is a pointer; any other text is the key itself.
            matches!(port_text(text, dialect), PortText::Literal(_))
        });
        let port: Input<Value> = ports
            .input::<Value>("entry")
            .required()
            .doc("the entry that is watched")
            .bind();
        let slot = match bare {
            Some(key) if key.is_empty() => {
                ports.problem_of(
                    "entry",
                    "port `entry` is empty: it names the entry that is watched",
                );
                None
            }
            Some(key) => ports.key(&key, Access::Read),
            None => port.slot(),
        };
        Self { slot }
    }

    /// The number of writes to the entry; `None` where there is no such entry.
    #[inline]
    pub(super) fn sequence(&self, cx: &Context<'_>) -> Option<u64> {
        let entry = cx.blackboard().entry(self.slot?);
        entry.exists().then(|| entry.sequence())
    }

    /// Whether the entry was written since the last look, which `memory.mark` remembers.
    #[inline]
    pub(super) fn is_updated(&self, cx: &mut Context<'_>) -> bool {
        let Some(sequence) = self.sequence(cx) else {
            return false;
        };
        std::mem::replace(&mut cx.memory().mark, sequence) != sequence
    }
}
