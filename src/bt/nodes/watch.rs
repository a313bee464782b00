//! Common code of the nodes that wait for a change of an entry.

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
            // Only `{key}` is a pointer; any other text is the key.
            matches!(port_text(text, dialect), PortText::Literal(_))
        });
        let port: Input<Value> = ports
            .input::<Value>("entry")
            .required()
            .doc("Entry to watch.")
            .bind();
        let slot = match bare {
            Some(key) if key.is_empty() => {
                ports.problem_of("entry", "port `entry` is empty: set the entry to watch");
                None
            }
            Some(key) => ports.key(&key, Access::Read),
            None => port.slot(),
        };
        Self { slot }
    }

    /// The write count of the entry. `None` if there is no such entry.
    #[inline]
    pub(super) fn sequence(&self, cx: &Context<'_>) -> Option<u64> {
        let entry = cx.blackboard().entry(self.slot?);
        entry.exists().then(|| entry.sequence())
    }

    /// Whether the entry was written since the last check, whose write count is in `memory.mark`.
    #[inline]
    pub(super) fn is_updated(&self, cx: &mut Context<'_>) -> bool {
        let Some(sequence) = self.sequence(cx) else {
            return false;
        };
        std::mem::replace(&mut cx.memory().mark, sequence) != sequence
    }
}
