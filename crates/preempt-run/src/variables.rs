//! Parts of global variables of C and C++, by the debug information: `table.items[2].uses`.

use gimli::{
    self, AttributeValue, DebuggingInformationEntry, EndianRcSlice, Reader, RunTimeEndian, Unit,
    UnitOffset,
};
use object::{Object, ObjectSection};
use std::rc::Rc;

type Bytes = EndianRcSlice<RunTimeEndian>;
type Entry = DebuggingInformationEntry<Bytes>;

/// How deep a type may be nested.
const DEEPEST: usize = 32;

/// The global variables of a file.
pub(crate) struct Variables {
    units: Vec<Unit<Bytes>>,
    dwarf: gimli::Dwarf<Bytes>,
    /// Address, size, unit and type.
    places: Vec<(u64, u64, usize, UnitOffset)>,
}

impl Variables {
    /// Reads them from an executable or a library.
    pub(crate) fn read(file: &object::File<'_>) -> gimli::Result<Self> {
        let section = |id: gimli::SectionId| -> gimli::Result<Bytes> {
            let data = file.section_by_name(id.name()).and_then(|s| s.uncompressed_data().ok());
            Ok(EndianRcSlice::new(Rc::from(&*data.unwrap_or_default()), RunTimeEndian::Little))
        };
        let dwarf = gimli::Dwarf::load(section)?;
        let mut variables = Variables { units: Vec::new(), dwarf, places: Vec::new() };
        let mut headers = variables.dwarf.units();
        while let Some(header) = headers.next()? {
            let unit = variables.dwarf.unit(header)?;
            variables.units.push(unit);
        }
        for unit in 0..variables.units.len() {
            variables.find(unit)?;
        }
        variables.places.sort_unstable();
        Ok(variables)
    }

    /// Finds the variables of a unit, if it is one of C or C++.
    fn find(&mut self, number: usize) -> gimli::Result<()> {
        let Variables { units, places, .. } = self;
        let unit = &units[number];
        let mut entries = unit.entries();
        let mut is_root = true;
        while let Some(entry) = entries.next_dfs()? {
            if std::mem::take(&mut is_root) && !is_of_c(entry) {
                return Ok(());
            }
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let (Some(address), Some(of)) = (address(unit, entry)?, declared(unit, entry)?) else {
                continue;
            };
            if let Some(size) = size(unit, of, 0)? {
                places.push((address, size, number, of));
            }
        }
        Ok(())
    }

    /// What lies at an address within a variable, as it is written behind its name: `.items[2].uses`. Ends where the user's own
    /// types end.
    pub(crate) fn part(&self, address: u64) -> Option<String> {
        let at = self.places.partition_point(|(start, ..)| *start <= address);
        let (start, size, unit, of) = self.places.get(at.checked_sub(1)?)?;
        let offset = address - start;
        if offset >= *size {
            return None;
        }
        let mut path = String::new();
        let left = self.follow(&self.units[*unit], (*of, offset), &mut path, 0).ok()?;
        if left > 0 {
            path.push_str(&format!("+{left}"));
        }
        Some(path)
    }

    /// Follows a type to what lies at an offset in it. Returns the offset that is left.
    fn follow(
        &self,
        unit: &Unit<Bytes>,
        (of, offset): (UnitOffset, u64),
        path: &mut String,
        depth: usize,
    ) -> gimli::Result<u64> {
        let entry = unit.entry(of)?;
        if depth > DEEPEST {
            return Ok(offset);
        }
        match entry.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                if self.is_of_the_language(unit, &entry) {
                    return Ok(offset);
                }
                let Some((name, at, member)) = self.member(unit, of, offset)? else {
                    return Ok(offset);
                };
                if !name.is_empty() {
                    path.push('.');
                    path.push_str(&name);
                }
                self.follow(unit, (member, offset - at), path, depth + 1)
            }
            gimli::DW_TAG_array_type => {
                let Some(element) = declared(unit, &entry)? else { return Ok(offset) };
                let mut step = size(unit, element, depth)?.unwrap_or(0);
                let lengths = lengths(unit, of)?;
                let steps: Vec<u64> = lengths
                    .iter()
                    .rev()
                    .map(|length| {
                        let this = step;
                        step = step.saturating_mul(*length);
                        this
                    })
                    .collect();
                let mut left = offset;
                for step in steps.into_iter().rev().filter(|step| *step > 0) {
                    path.push_str(&format!("[{}]", left / step));
                    left %= step;
                }
                self.follow(unit, (element, left), path, depth + 1)
            }
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type => match declared(unit, &entry)? {
                Some(inner) => self.follow(unit, (inner, offset), path, depth + 1),
                None => Ok(offset),
            },
            _ => Ok(offset),
        }
    }

    /// The member of a structure at an offset, or the base class: its name, where it begins, its type.
    fn member(
        &self,
        unit: &Unit<Bytes>,
        of: UnitOffset,
        offset: u64,
    ) -> gimli::Result<Option<(String, u64, UnitOffset)>> {
        let mut tree = unit.entries_tree(Some(of))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_member && entry.tag() != gimli::DW_TAG_inheritance {
                continue;
            }
            let at = entry.attr_value(gimli::DW_AT_data_member_location);
            let at = at.and_then(|value| value.udata_value()).unwrap_or(0);
            let Some(inner) = declared(unit, entry)? else { continue };
            let size = size(unit, inner, 0)?.unwrap_or(0);
            if (at..at + size).contains(&offset) {
                let name = entry.attr_value(gimli::DW_AT_name);
                let name = name.and_then(|value| self.dwarf.attr_string(unit, value).ok());
                let name =
                    name.and_then(|name| name.to_string().ok().map(|name| name.into_owned()));
                return Ok(Some((name.unwrap_or_default(), at, inner)));
            }
        }
        Ok(None)
    }

    /// Whether a type is declared in a file that comes with the compiler or the system.
    fn is_of_the_language(&self, unit: &Unit<Bytes>, entry: &Entry) -> bool {
        let index = entry.attr_value(gimli::DW_AT_decl_file).and_then(|value| match value {
            AttributeValue::FileIndex(index) => Some(index),
            value => value.udata_value(),
        });
        let folder = || {
            let header = unit.line_program.as_ref()?.header();
            let file = header.file(index?)?;
            let folder = self.dwarf.attr_string(unit, file.directory(header)?).ok()?;
            Some(folder.to_string().ok()?.starts_with("/usr/"))
        };
        folder().unwrap_or(false)
    }
}

fn is_of_c(root: &Entry) -> bool {
    use gimli::constants as languages;
    matches!(
        root.attr_value(gimli::DW_AT_language),
        Some(AttributeValue::Language(
            languages::DW_LANG_C89
                | languages::DW_LANG_C
                | languages::DW_LANG_C99
                | languages::DW_LANG_C11
                | languages::DW_LANG_C17
                | languages::DW_LANG_C_plus_plus
                | languages::DW_LANG_C_plus_plus_03
                | languages::DW_LANG_C_plus_plus_11
                | languages::DW_LANG_C_plus_plus_14
                | languages::DW_LANG_C_plus_plus_17
                | languages::DW_LANG_C_plus_plus_20
        ))
    )
}

/// The address of a variable that has one always.
fn address(unit: &Unit<Bytes>, entry: &Entry) -> gimli::Result<Option<u64>> {
    let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location) else {
        return Ok(None);
    };
    let mut operations = expression.operations(unit.encoding());
    let first = operations.next()?;
    match (first, operations.next()?) {
        (Some(gimli::Operation::Address { address }), None) => Ok(Some(address)),
        _ => Ok(None),
    }
}

/// The type that an entry has, or the declaration of which it is the definition.
fn declared(unit: &Unit<Bytes>, entry: &Entry) -> gimli::Result<Option<UnitOffset>> {
    if let Some(AttributeValue::UnitRef(of)) = entry.attr_value(gimli::DW_AT_type) {
        return Ok(Some(of));
    }
    let Some(AttributeValue::UnitRef(at)) = entry.attr_value(gimli::DW_AT_specification) else {
        return Ok(None);
    };
    match unit.entry(at)?.attr_value(gimli::DW_AT_type) {
        Some(AttributeValue::UnitRef(of)) => Ok(Some(of)),
        _ => Ok(None),
    }
}

/// How many bytes a type has.
fn size(unit: &Unit<Bytes>, of: UnitOffset, depth: usize) -> gimli::Result<Option<u64>> {
    let entry = unit.entry(of)?;
    let known = entry.attr_value(gimli::DW_AT_byte_size).and_then(|value| value.udata_value());
    if known.is_some() || depth > DEEPEST {
        return Ok(known);
    }
    if matches!(
        entry.tag(),
        gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type
    ) {
        return Ok(Some(u64::from(unit.encoding().address_size)));
    }
    let Some(inner) = declared(unit, &entry)? else { return Ok(None) };
    let Some(size) = size(unit, inner, depth + 1)? else { return Ok(None) };
    if entry.tag() != gimli::DW_TAG_array_type {
        return Ok(Some(size));
    }
    let all = lengths(unit, of)?;
    Ok(Some(all.into_iter().fold(size, u64::saturating_mul)))
}

/// The lengths of an array in each of its dimensions.
fn lengths(unit: &Unit<Bytes>, of: UnitOffset) -> gimli::Result<Vec<u64>> {
    let mut tree = unit.entries_tree(Some(of))?;
    let mut children = tree.root()?.children();
    let mut lengths = Vec::new();
    while let Some(child) = children.next()? {
        let number = |name| child.entry().attr_value(name).and_then(|value| value.udata_value());
        let last = || number(gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
        lengths.push(number(gimli::DW_AT_count).or_else(last).unwrap_or(0));
    }
    Ok(lengths)
}
