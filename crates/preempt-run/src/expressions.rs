//! The expression that an operation of C or C++ is written with, by the text of its line and the column that the debug
//! information gives: `account->lock` in `pthread_mutex_lock(&account->lock);`.
//!
//! Compilers point to the operator, to the operand, to the last member of it, or to the name of the function that is called.
//! Where that does not tell which operand is meant, there is none: a wrong name is worse than an address.

/// Methods of C++'s library whose receiver is what the operation is about.
const METHODS: [&str; 24] = [
    "acquire",
    "arrive_and_wait",
    "clear",
    "compare_exchange_strong",
    "compare_exchange_weak",
    "count_down",
    "exchange",
    "fetch_add",
    "fetch_and",
    "fetch_or",
    "fetch_sub",
    "fetch_xor",
    "load",
    "lock",
    "lock_shared",
    "notify_all",
    "notify_one",
    "release",
    "store",
    "test",
    "test_and_set",
    "try_acquire",
    "try_lock",
    "unlock",
];

/// What the operation at this column, from 1, is about.
pub(crate) fn operand(text: &str, column: u32, is_cxx: bool) -> Option<String> {
    let at = (column as usize).checked_sub(1)?;
    if !text.is_char_boundary(at) {
        return None;
    }
    let rest = &text[at..];
    let found = match rest.chars().next()? {
        c if is_word(c) => named(text, at, is_cxx)?,
        '(' => called(text, words_before(text, at), at)?,
        ')' | '}' => {
            let open = opening(text, at)?;
            let start = words_before(text, open);
            // Of other calls any argument may be meant.
            let is_a_lock = ["lock_guard<", "_lock<", "lock_guard ", "_lock "]
                .iter()
                .any(|name| text[..start].contains(name));
            let is_a_method = text[start..open].contains(['.', '>']);
            (is_a_lock || is_a_method).then(|| called(text, start, open))??
        }
        '+' | '-' if rest.starts_with("++") || rest.starts_with("--") => {
            let before = &text[words_before(text, at)..at];
            if before.is_empty() { &text[at + 2..words_after(text, at + 2)] } else { before }
        }
        _ if assigns(rest) => {
            let end = text[..at].trim_end().len();
            &text[words_before(text, end)..end]
        }
        // The second operand: the first has a column of its own.
        '=' | '!' | '<' | '>' | '+' | '-' | '*' | '/' | '&' | '|' if !is_cxx => {
            let operator = rest.find(|c: char| !"=!<>+-*/&|".contains(c))?;
            let start =
                at + operator + (rest[operator..].len() - rest[operator..].trim_start().len());
            &text[start..words_after(text, start)]
        }
        _ => return None,
    };
    let is_name = found.starts_with(|c: char| c.is_alphabetic() || c == '_');
    is_name.then(|| found.to_string())
}

/// What is meant by a column at a word: a call, what is assigned to, or what is read.
fn named(text: &str, at: usize, is_cxx: bool) -> Option<&str> {
    let word = at + text[at..].find(|c| !is_word(c)).unwrap_or(text.len() - at);
    let start = words_before(text, word);
    let end = words_after(text, start);
    let found = &text[start..end];
    let behind = text[end..].trim_start();
    if behind.starts_with(['(', '{']) {
        return called(text, start, text.len() - behind.len());
    }
    let before = text[..start].trim_end();
    if assigns(behind) || ["++", "--"].iter().any(|o| behind.starts_with(o) || before.ends_with(o))
    {
        return Some(found);
    }
    // C++ points to the end of an expression at times, which may be another operand.
    let is_alone = ["=", "(", "!", "return", ";", "{"].iter().any(|o| before.ends_with(o))
        && !["==", "!=", "<=", ">="].iter().any(|o| before.ends_with(o));
    (!is_cxx || is_alone && behind.starts_with([')', ';'])).then_some(found)
}

/// What a call is about: the receiver of a method, or the first argument. `start` is where the name of what is called begins,
/// `open` its parenthesis.
fn called(text: &str, start: usize, open: usize) -> Option<&str> {
    let name = text[start..open].trim_end();
    let last = name.rfind(|c| !is_word(c)).map_or(0, |at| at + 1);
    let receiver = name[..last].trim_end_matches("->").trim_end_matches('.');
    if METHODS.contains(&&name[last..]) && receiver.len() < last && !receiver.ends_with(':') {
        return Some(receiver);
    }
    if receiver.len() < last && !name[..last].ends_with("::") {
        return None;
    }
    let inner = text[open + 1..].trim_start();
    let first = text.len() - inner.len();
    let address = first + inner.len() - inner.trim_start_matches(['&', ' ']).len();
    let end = words_after(text, address);
    let behind = text[end..].trim_start();
    // Several locks are taken in an order of the library's choice.
    let is_one = !text[..open].contains("scoped_lock") || behind.starts_with([')', '}']);
    (is_one && behind.starts_with([',', ')', '}'])).then(|| &text[address..end])
}

/// Where the parenthesis opens that is closed there.
fn opening(text: &str, close: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text[..=close].char_indices().rev() {
        match c {
            ')' | '}' => depth += 1,
            '(' | '{' if depth == 1 => return Some(at),
            '(' | '{' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a text begins with an assignment.
fn assigns(text: &str) -> bool {
    let operator = text.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
    let length = text.len() - operator.len();
    operator.starts_with('=')
        && !operator.starts_with("==")
        && (length != 1 || !text.starts_with(['<', '>']))
}

/// Where the names, members and elements begin that end there.
fn words_before(text: &str, end: usize) -> usize {
    let mut start = end;
    let mut depth = 0_usize;
    while let Some(c) = text[..start].chars().next_back() {
        let arrow = text[..start].ends_with("->");
        match c {
            ']' => depth += 1,
            '[' if depth > 0 => depth -= 1,
            _ if depth > 0 || is_word(c) || c == '.' || c == ':' => {}
            '>' if arrow => start -= 1,
            _ => break,
        }
        start -= c.len_utf8();
    }
    if depth > 0 { end } else { start }
}

/// Where the names, members and elements end that begin there.
fn words_after(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut depth = 0_usize;
    while let Some(c) = text[end..].chars().next() {
        match c {
            '[' => depth += 1,
            ']' if depth > 0 => depth -= 1,
            _ if depth > 0 || is_word(c) || c == '.' || c == ':' => {}
            '-' if text[end..].starts_with("->") => end += 1,
            _ => break,
        }
        end += c.len_utf8();
    }
    if depth > 0 { start } else { end }
}

#[cfg(test)]
mod tests {
    use super::operand;

    /// The column is where the mark stands.
    fn at(marked: &str, is_cxx: bool) -> Option<String> {
        let column = marked.find('^').expect("a mark") + 1;
        operand(&marked.replace('^', ""), column as u32, is_cxx)
    }

    #[test]
    fn operands_of_c_are_found() {
        for (marked, name) in [
            ("  s->a^++;", Some("s->a")),
            ("  ^++s->b;", Some("s->b")),
            ("  s->a ^+= 3;", Some("s->a")),
            ("  s->b ^= 4;", Some("s->b")),
            ("  int r = ^s->a + 1;", Some("s->a")),
            ("  if (r ^== s->next->b) r = 2;", Some("s->next->b")),
            ("  r += ^arr[i].a;", Some("arr[i].a")),
            ("  while (!^arr[i + 1].b) r++;", Some("arr[i + 1].b")),
            ("  ^__atomic_store_n(&s->z, 3, __ATOMIC_SEQ_CST);", Some("s->z")),
            ("  ^pthread_mutex_lock(& table.items[2].lock);", Some("table.items[2].lock")),
            ("  ^assert(x == 1);", None),
            ("  ^atomic_load(&f(x)->a);", None),
            ("  if (^3 == x) r = 2;", None),
        ] {
            assert_eq!(at(marked, false).as_deref(), name, "{marked}");
        }
    }

    #[test]
    fn operands_of_cxx_are_found() {
        for (marked, name) in [
            ("  s->a^++;", Some("s->a")),
            ("  s->b ^= 4;", Some("s->b")),
            ("  int r = s->a + ^1;", None),
            ("  int r = s->a + ^n;", None),
            ("  if (r == s->next->^b) r = 2;", None),
            ("  while (!arr[i + 1].^b) r++;", Some("arr[i + 1].b")),
            ("  std::atomic_fetch_add^(&s->a, 3);", Some("s->a")),
            ("  return ^head;", Some("head")),
            ("  return head.^load(std::memory_order_acquire);", Some("head")),
            ("  self->items[k].^compare_exchange_weak(x, y);", Some("self->items[k]")),
            ("  std::lock_guard<std::mutex> ^lock(guard);", Some("guard")),
            ("  std::unique_lock ^lock{q->guard, std::defer_lock};", Some("q->guard")),
            ("  std::scoped_lock ^both(first, second);", None),
            ("  std::scoped_lock ^one(first);", Some("first")),
            ("  ready.^notify_one();", Some("ready")),
            ("  void put() { std::lock_guard<std::mutex> lock(guard^); }", Some("guard")),
            ("  { std::unique_lock lock{a->guard, std::defer_lock^}; }", Some("a->guard")),
            ("  head.store(f(3), std::memory_order_release^);", Some("head")),
            ("  g(n, s->a^);", None),
            ("  queue.^push(3);", None),
        ] {
            assert_eq!(at(marked, true).as_deref(), name, "{marked}");
        }
    }
}
