//! Gives every variable its place in the state vector.
//!
//! Channels are numbered as Spin numbers them: global channel variables in order of declaration,
//! then channels inside global structures; the channels of a process in order of declaration.
//! A channel variable that is never assigned is not stored: its value is known.

use super::{LowerError, Lowering, Owner, usage};
use crate::ir::{ChannelSlot, ChannelType, Frame, Named, NamedValue, Place, Space, ValueKind};
use crate::model::{ChannelInit, Initializer, Type, TypedefId, Variable, Visibility};
use crate::syntax::span::Span;
use std::ops::Range;

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// At this offset of the vector or frame.
    At(u32),
    /// Nowhere: it is never read.
    Hidden,
    /// A global channel variable that never changes: the index of its (first) channel.
    Fixed(u32),
}

#[derive(Default)]
pub(super) struct Storage {
    pub(super) globals: Vec<Home>,
    pub(super) locals: Vec<Vec<Home>>,
    /// Per structure: its size, and the offset of each field.
    structs: Vec<(u32, Vec<u32>)>,
    /// Own channels of each local variable of each process type that holds one for ever.
    pub(super) own: Vec<Vec<Option<u32>>>,
    pub(super) frames: Vec<Frame>,
    /// Cells of global channel variables that hold an id at the start: offset and id.
    pub(super) global_cells: Vec<(u32, u32)>,
    /// The bytes of C among the globals.
    pub(super) tracked: Range<u32>,
    /// The same in the frame of each process type.
    pub(super) local_tracked: Vec<Range<u32>>,
}

impl Storage {
    pub(super) fn size(&self, ty: &Type) -> u32 {
        match ty {
            Type::Struct(id) => self.structs[id.0 as usize].0,
            scalar => kind_of(scalar).width().bytes(),
        }
    }

    pub(super) fn field(&self, typedef: TypedefId, field: u32) -> u32 {
        self.structs[typedef.0 as usize].1[field as usize]
    }
}

/// How a scalar type is stored.
pub(super) fn kind_of(ty: &Type) -> ValueKind {
    match ty {
        Type::Bit | Type::Bool => ValueKind::Bit,
        Type::Byte | Type::Pid | Type::Mtype(_) | Type::Chan => ValueKind::Byte,
        Type::Short => ValueKind::Short,
        Type::Int => ValueKind::Int,
        Type::Unsigned(bits) => ValueKind::Unsigned(*bits),
        Type::Struct(_) => ValueKind::Byte,
    }
}

/// How an element of a variable is stored. In an array a bit takes, and keeps, a whole byte.
pub(super) fn element_kind(ty: &Type, in_array: bool) -> ValueKind {
    match kind_of(ty) {
        ValueKind::Bit if in_array => ValueKind::Byte,
        kind => kind,
    }
}

impl Lowering<'_> {
    pub(super) fn allocate(&mut self) -> Result<(), LowerError> {
        self.allocate_structs()?;
        let layout = &mut self.program.layout;
        layout.has_priorities = self.facts.uses_priorities;
        let mut end = 2;
        if self.facts.uses_last {
            layout.last_offset = Some(end);
            end += 1;
        }
        if self.model.trace.is_some() {
            layout.trace_offset = Some(end);
            end += 1;
        }
        let mut next_channel = 0;
        for (index, variable) in self.model.globals.iter().enumerate() {
            let home = self.global_home(index as u32, variable, &mut end, &mut next_channel)?;
            self.storage.globals.push(home);
        }
        self.create_global_channels(&mut end)?;
        self.storage.tracked = self.place_tracked(None, &mut end)?;
        self.program.layout.globals_end = end;
        for index in 0..self.model.proctypes.len() {
            self.allocate_frame(index)?;
        }
        self.name_globals();
        self.mirror_variables();
        Ok(())
    }

    fn allocate_structs(&mut self) -> Result<(), LowerError> {
        for typedef in &self.model.typedefs {
            let mut offsets = Vec::new();
            let mut size: u32 = 0;
            for field in &typedef.fields {
                if let Type::Struct(id) = &field.ty
                    && id.0 as usize >= self.storage.structs.len()
                {
                    return Err(too_large("a structure contains itself", field.span));
                }
                offsets.push(size);
                let bytes = self.storage.size(&field.ty).checked_mul(field.array.unwrap_or(1));
                size = bytes
                    .and_then(|b| size.checked_add(b))
                    .filter(|s| *s < 1 << 20)
                    .ok_or_else(|| too_large("this structure is too large", field.span))?;
            }
            self.storage.structs.push((size, offsets));
        }
        Ok(())
    }

    fn global_home(
        &mut self,
        index: u32,
        variable: &Variable,
        end: &mut u32,
        next_channel: &mut u32,
    ) -> Result<Home, LowerError> {
        if variable.ty == Type::Chan
            && let Some(Initializer::Channel(_)) = &variable.init
        {
            let first = *next_channel;
            *next_channel += variable.array.unwrap_or(1);
            if !self.facts.assigned.contains(&Owner::Global(index)) {
                return Ok(Home::Fixed(first));
            }
        }
        let hidden = variable.visibility == Visibility::Hidden;
        let needed = if hidden { &self.facts.used } else { &self.facts.read };
        if usage::can_hide(&variable.ty)
            && !needed.contains(&index)
            && (hidden || self.options.hide_unread)
            && self.model.embedded.is_empty()
        {
            return Ok(Home::Hidden);
        }
        if hidden {
            let why = match self.model.embedded.is_empty() {
                true => "is read",
                false => "may be read by C",
            };
            self.program.notes.push(format!(
                "`hidden` variable `{}` {why}, so it stays part of the state",
                variable.name
            ));
        }
        let at = *end;
        *end = self.grow(at, variable)?;
        Ok(Home::At(at))
    }

    fn grow(&self, at: u32, variable: &Variable) -> Result<u32, LowerError> {
        self.storage
            .size(&variable.ty)
            .checked_mul(variable.array.unwrap_or(1))
            .and_then(|bytes| at.checked_add(bytes))
            .filter(|end| *end < 1 << 20)
            .ok_or_else(|| too_large("the state is too large", variable.span))
    }

    /// Channels of plain variables first, then those inside structures.
    fn create_global_channels(&mut self, end: &mut u32) -> Result<(), LowerError> {
        for in_structs in [false, true] {
            for (index, variable) in self.model.globals.iter().enumerate() {
                if matches!(variable.ty, Type::Struct(_)) != in_structs {
                    continue;
                }
                let home = self.storage.globals[index];
                let base = if let Home::At(at) = home { at } else { 0 };
                for (cell, init) in self.channel_leaves(variable, base) {
                    let slot = self.place_channel(&init, end)?;
                    self.program.layout.channels.push(slot);
                    let id = self.program.layout.channels.len() as u32;
                    if let Home::At(_) = home {
                        self.storage.global_cells.push((cell, id));
                    }
                }
            }
        }
        Ok(())
    }

    /// The channels that a variable brings along: offset of the cell of the id, and the channel.
    fn channel_leaves(&self, variable: &Variable, base: u32) -> Vec<(u32, ChannelInit)> {
        let mut leaves = Vec::new();
        let stride = self.storage.size(&variable.ty);
        for element in 0..variable.array.unwrap_or(1) {
            let at = base + element * stride;
            match (&variable.ty, &variable.init) {
                (Type::Chan, Some(Initializer::Channel(init))) => leaves.push((at, init.clone())),
                (Type::Struct(id), _) => {
                    let typedef = &self.model.typedefs[id.0 as usize];
                    for (field, inner) in typedef.fields.iter().enumerate() {
                        let offset = self.storage.field(*id, field as u32);
                        leaves.extend(self.channel_leaves(inner, at + offset));
                    }
                }
                _ => {}
            }
        }
        leaves
    }

    fn place_channel(
        &mut self,
        init: &ChannelInit,
        end: &mut u32,
    ) -> Result<ChannelSlot, LowerError> {
        let channel_type = self.channel_type(init);
        let offset = *end;
        let layout = &self.program.layout;
        *end = layout
            .channel_bytes(&layout.channel_types[channel_type as usize])
            .and_then(|bytes| offset.checked_add(bytes))
            .filter(|end| *end < 1 << 20)
            .ok_or_else(|| too_large("the state is too large", init.span))?;
        Ok(ChannelSlot { channel_type, offset })
    }

    fn channel_type(&mut self, init: &ChannelInit) -> u32 {
        let mut fields = Vec::new();
        let mut mtypes = Vec::new();
        for ty in &init.fields {
            self.flatten(ty, &mut |scalar| {
                fields.push(kind_of(scalar));
                mtypes.push(match scalar {
                    Type::Mtype(set) => Some(set.clone()),
                    _ => None,
                });
            });
        }
        // Spin packs bits, unless there is just one.
        if let [only] = &mut fields[..]
            && *only == ValueKind::Bit
        {
            *only = ValueKind::Byte;
        }
        let mut at = 0;
        let fields = fields
            .into_iter()
            .map(|kind| {
                let offset = at;
                at += kind.width().bytes();
                (kind, offset)
            })
            .collect();
        let channel_type =
            ChannelType { capacity: init.capacity, fields, message_length: at, mtypes };
        let types = &mut self.program.layout.channel_types;
        if let Some(known) = types.iter().position(|t| *t == channel_type) {
            return known as u32;
        }
        types.push(channel_type);
        types.len() as u32 - 1
    }

    /// The scalars of a type, structures and their arrays taken apart.
    fn flatten(&self, ty: &Type, f: &mut dyn FnMut(&Type)) {
        match ty {
            Type::Struct(id) => {
                for field in &self.model.typedefs[id.0 as usize].fields {
                    for _ in 0..field.array.unwrap_or(1) {
                        self.flatten(&field.ty, f);
                    }
                }
            }
            scalar => f(scalar),
        }
    }

    fn allocate_frame(&mut self, index: usize) -> Result<(), LowerError> {
        let locals = self.locals[index].clone();
        let mut end =
            1 + self.program.layout.pc_width + u32::from(self.program.layout.has_priorities);
        let mut homes = Vec::new();
        let mut own = Vec::new();
        let mut leaves = Vec::new();
        for (at, variable) in locals.iter().enumerate() {
            homes.push(Home::At(end));
            let found = self.channel_leaves(variable, end);
            let fixed = variable.ty == Type::Chan
                && variable.array.is_none()
                && found.len() == 1
                && !self.facts.assigned.contains(&Owner::Local(index, at as u32));
            own.push(fixed.then_some(leaves.len() as u32));
            leaves.extend(found);
            end = self.grow(end, variable)?;
        }
        let mut frame = Frame::default();
        for (cell, init) in leaves {
            let slot = self.place_channel(&init, &mut end)?;
            frame.channels.push(slot);
            frame.channel_cells.push(cell);
        }
        let tracked = self.place_tracked(Some(index), &mut end)?;
        self.storage.local_tracked.push(tracked);
        frame.length = end;
        for (at, variable) in locals.iter().enumerate() {
            if let Home::At(offset) = homes[at] {
                self.name(Space::Local, &variable.name, variable, offset, &mut frame.names);
            }
        }
        self.storage.locals.push(homes);
        self.storage.own.push(own);
        self.storage.frames.push(frame);
        Ok(())
    }

    /// The scalars of a local variable, in order.
    pub(super) fn scalars_of(&self, process: usize, local: usize) -> Vec<Place> {
        let mut names = Vec::new();
        if let Home::At(offset) = self.storage.locals[process][local] {
            let variable = &self.locals[process][local];
            self.name(Space::Local, "", variable, offset, &mut names);
        }
        names
            .into_iter()
            .filter_map(|named| match named.value {
                NamedValue::Number(place) | NamedValue::ChannelAt(place) => Some(place),
                NamedValue::Channel(_) => None,
            })
            .collect()
    }

    fn name_globals(&mut self) {
        let mut names = Vec::new();
        for (index, variable) in self.model.globals.iter().enumerate() {
            match self.storage.globals[index] {
                Home::At(offset) => {
                    self.name(Space::Global, &variable.name, variable, offset, &mut names);
                }
                Home::Fixed(first) => {
                    for element in 0..variable.array.unwrap_or(1) {
                        let name = match variable.array {
                            Some(_) => format!("{}[{element}]", variable.name),
                            None => variable.name.clone(),
                        };
                        let value = NamedValue::Channel(first + element);
                        names.push(Named { name, value, mtype: None });
                    }
                }
                Home::Hidden => {}
            }
        }
        self.program.layout.names = names;
    }

    /// Adds the scalars of a variable under their names.
    pub(super) fn name(
        &self,
        space: Space,
        prefix: &str,
        variable: &Variable,
        offset: u32,
        names: &mut Vec<Named>,
    ) {
        let stride = self.storage.size(&variable.ty);
        for element in 0..variable.array.unwrap_or(1) {
            let name = match variable.array {
                Some(_) => format!("{prefix}[{element}]"),
                None => prefix.to_string(),
            };
            let at = offset + element * stride;
            if let Type::Struct(id) = &variable.ty {
                let typedef = &self.model.typedefs[id.0 as usize];
                for (field, inner) in typedef.fields.iter().enumerate() {
                    let offset = at + self.storage.field(*id, field as u32);
                    self.name(space, &format!("{name}.{}", inner.name), inner, offset, names);
                }
                continue;
            }
            let kind = element_kind(&variable.ty, variable.array.is_some());
            let place = Place { space, offset: at, kind, indices: Vec::new() };
            let value = match variable.ty {
                Type::Chan => NamedValue::ChannelAt(place),
                _ => NamedValue::Number(place),
            };
            let mtype = match &variable.ty {
                Type::Mtype(set) => Some(set.clone()),
                _ => None,
            };
            names.push(Named { name, value, mtype });
        }
    }
}

pub(super) fn too_large(message: &str, span: Span) -> LowerError {
    LowerError::new(message, span)
}
