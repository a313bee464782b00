//! The table of the nodes of a folder.

/// One row per file: the nodes that it exports and registers. `Node of (A, B)` registers `Node<A>` and `Node<B>`. A row with
/// an ID registers a node for version 3 files only. `mod FILE;` is outside the table because rustfmt ignores a module that a
/// macro declares.
macro_rules! nodes {
    ($($file:ident: $($node:ident $(of ($($of:tt),+))?),+;)* $($id:literal: $old:ty;)*) => {
        $(pub use $file::{$($node),+};)*

        /// Registers every node of this table.
        pub(super) fn register(registry: &mut crate::bt::Registry) -> Result<(), crate::bt::RegistryError> {
            $($(nodes!(@register registry $node $($($of)+)?);)+)*
            $(registry.register_v3::<$old>($id);)*
            Ok(())
        }
    };
    (@register $registry:ident $node:ident) => { $registry.register::<$node>()?; };
    (@register $registry:ident $node:ident $($of:tt)+) => { $($registry.register::<$node<$of>>()?;)+ };
}

pub(super) use nodes;
