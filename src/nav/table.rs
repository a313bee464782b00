//! The table of the nodes of a folder.

/// One row per node: its file, the node, and the behaviour that it shares with others (`in`) or its second ID (`as`). A row
/// exports the node and registers it. `mod FILE;` is outside the table because rustfmt ignores a module that a macro
/// declares.
macro_rules! nodes {
    ($($file:ident: $node:ident $(in $leaf:ident)? $(as $alias:literal)?,)*) => {
        $(pub use $file::$node;)*

        /// Registers every node of this table.
        pub(super) fn register(registry: &mut crate::bt::Registry) -> Result<(), crate::bt::RegistryError> {
            $(
                registry.register::<nodes!(@type $node $($leaf)?)>()?;
                $(registry.register_as::<$node>($alias)?;)?
            )*
            Ok(())
        }
    };
    (@type $node:ident) => { $node };
    (@type $node:ident $leaf:ident) => { $leaf<$node> };
}

pub(super) use nodes;
