//! Setters for configurations, as in `cenote-device`, on which this crate does not depend.

/// Setters for fields of a configuration: each gives the configuration back with one field set.
macro_rules! setters {
    ($($field:ident: $kind:ty),* $(,)?) => {
        $(
            #[doc = concat!(
                "Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").",
            )]
            #[must_use]
            pub fn $field(mut self, $field: $kind) -> Self {
                self.$field = $field;
                self
            }
        )*
    };
}

pub(crate) use setters;
