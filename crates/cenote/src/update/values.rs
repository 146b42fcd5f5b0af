//! Changes of the values of vertices.

use cenote_store::{IdRef, Op, Value, ValueType};

use super::{Update, UpdateOptions};
use crate::error::{Error, Result};

impl UpdateOptions {
    /// Type of the values of vertices, where none has one yet [default: of `u64`, `i64` and `f64`
    /// the first that holds the first value]. A graph whose values have another type is refused.
    pub fn values(mut self, kind: ValueType) -> Self {
        self.values = Some(kind);
        self
    }
}

impl Update {
    /// Sets the value of a vertex with the next commit. All values of a graph have one type.
    ///
    /// # Errors
    /// As [`Update::add`], and [`Error::InvalidInput`] for a value that the graph cannot have.
    pub fn set_value(&mut self, id: impl ToString, value: impl ToString) -> Result<()> {
        let value = self.value(&value.to_string())?;
        let id = id.to_string();
        let id = self.id(&id)?;
        self.push_value(id, Some(value))
    }

    /// Removes the value of a vertex with the next commit.
    ///
    /// # Errors
    /// As [`Update::add`].
    pub fn remove_value(&mut self, id: impl ToString) -> Result<()> {
        let id = id.to_string();
        let id = self.id(&id)?;
        self.push_value(id, None)
    }

    /// A value in the form of text, for [`Update::push_value`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the graph cannot have it.
    pub fn value(&self, text: &str) -> Result<Value> {
        let kind = self.values.or_else(|| ValueType::of_text(text));
        if let Some(value) = kind.and_then(|kind| kind.parse(text)) {
            return Ok(value);
        }
        let expected = kind.map_or("a finite number", ValueType::expected);
        let shown = &text[..text.floor_char_boundary(80)];
        Err(Error::input(&self.path, format!("the value `{shown}`: expected {expected}")))
    }

    /// Sets the value of a vertex with the next commit, or removes it, by an id of the graph's
    /// kind.
    ///
    /// # Errors
    /// As [`Update::set_value`].
    pub fn push_value(&mut self, id: IdRef<'_>, value: Option<Value>) -> Result<()> {
        let Some(value) = value else { return self.push(Op::RemoveValue, [id; 2], None) };
        let kind = *self.values.get_or_insert(value.kind());
        if value.kind() != kind {
            let reason = format!("the value `{value}`: expected {}", kind.expected());
            return Err(Error::input(&self.path, reason));
        }
        self.push_any(Op::SetValue, [id; 2], None)?;
        self.changes.push_value(value);
        Ok(())
    }
}
