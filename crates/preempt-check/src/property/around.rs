//! Systems around a system: what they leave to it.

/// Leaves methods to `self.system`; those about a state get what `self.inner` makes of it.
macro_rules! leave_to_system {
    ($(fn $method:ident($($arguments:tt)*) -> $result:ty;)*) => {
        $(leave_to_system!(@ $method ($($arguments)*) $result);)*
    };
    (@ $method:ident (state $(, $argument:ident: $type:ty)*) $result:ty) => {
        fn $method(&self, state: &[u8] $(, $argument: $type)*) -> $result {
            self.system.$method(self.inner(state) $(, $argument)*)
        }
    };
    (@ $method:ident ($($argument:ident: $type:ty),*) $result:ty) => {
        fn $method(&self $(, $argument: $type)*) -> $result {
            self.system.$method($($argument),*)
        }
    };
}

pub(crate) use leave_to_system;
