//! Every diagnostic code, with what it means and how to get rid of it.
//!
//! A code is never given a new meaning. `preempt explain P0012` prints one of these entries.

/// What a code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code, such as `P0012`.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// A paragraph.
    pub explanation: &'static str,
    /// A model, or the start of one, that draws this diagnostic.
    pub wrong: &'static str,
    /// The same without it.
    pub right: &'static str,
}

/// The entry of a code.
pub fn find(id: &str) -> Option<&'static Code> {
    TABLE.iter().find(|code| code.id.eq_ignore_ascii_case(id))
}

macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal, $explanation:literal, $wrong:literal, $right:literal;)*) => {
        $(pub(crate) const $name: &str = $id;)*

        /// All codes, in order.
        pub const TABLE: &[Code] = &[
            $(Code { id: $id, title: $title, explanation: $explanation, wrong: $wrong, right: $right },)*
        ];
    };
}

codes! {
    UNTERMINATED_COMMENT = "P0001",
        "comment is never closed",
        "A comment that starts with `/*` reaches to the next `*/`. This one reaches to the end of the file, so everything behind it is lost. Comments do not nest: the first `*/` closes the comment.",
        "byte x; /* how many\ninit { x = 1 }",
        "byte x; /* how many */\ninit { x = 1 }";
    UNTERMINATED_STRING = "P0002",
        "string is not closed on its line",
        "A string starts and ends with a double quote on one line. To continue it on the next line, end the line with a backslash.",
        "init { printf(\"hello\\n) }",
        "init { printf(\"hello\\n\") }";
    MALFORMED_CHARACTER = "P0003",
        "malformed character constant",
        "A character constant is one character, or one escape such as `\\n`, between single quotes. Its value is the number of the character.",
        "init { byte c; c = 'ab' }",
        "init { byte c; c = 'a' }";
    STRAY_CHARACTER = "P0004",
        "character without a meaning",
        "This character is not part of Promela. It is often pasted from a text with typographic quotes or dashes.",
        "init { byte x; x $ 1 }",
        "init { byte x; x = 1 }";
    NUMBER_TOO_LARGE = "P0005",
        "number does not fit into 32 bits",
        "All values are computed with 32 bits and a sign. A larger number is cut to its lowest 32 bits, as in Spin, which is rarely what was meant.",
        "init { int x; x = 5000000000 }",
        "init { int x; x = 2000000000 }";
    NOT_UTF8 = "P0006",
        "bytes that are not UTF-8",
        "The file contains bytes that are not text in UTF-8. In comments they do no harm; elsewhere only ASCII can stand.",
        "init { byte \\xff; skip }",
        "init { byte x; x = 1 }";
    BAD_NUMBER = "P0007",
        "number is not decimal",
        "Promela knows decimal numbers only: no hexadecimal or binary ones, no suffixes. A leading 0 does not make a number octal.",
        "init { int x; x = 0x10 }",
        "init { int x; x = 16 }";
    UNKNOWN_DIRECTIVE = "P0010",
        "unknown preprocessor directive",
        "A line that starts with `#` is a directive: define, undef, include, if, ifdef, ifndef, elif, else, endif, error, warning, line, pragma.",
        "#defin N 3\ninit { skip }",
        "#define N 3\ninit { skip }";
    MALFORMED_DIRECTIVE = "P0011",
        "malformed preprocessor directive",
        "The directive lacks its name, or the parameters of a macro are not names between parentheses. The parenthesis must follow the macro's name without a space.",
        "#define 3\ninit { skip }",
        "#define N 3\ninit { skip }";
    INCLUDE_UNREADABLE = "P0012",
        "included file cannot be read",
        "The file named by `#include` cannot be read. Its path is taken relative to the file that includes it.",
        "#include \"no_such_file.h\"\ninit { skip }",
        "init { skip }";
    INCLUDE_DEPTH = "P0013",
        "includes nested too deeply",
        "Files include each other more than 64 levels deep, or more than 2000 files are read. Most likely a file includes itself; guard it with `#ifndef`.",
        "#include \"this_file.pml\"",
        "#ifndef SEEN\n#define SEEN\n#endif\ninit { skip }";
    UNBALANCED_CONDITIONAL = "P0014",
        "unbalanced conditional",
        "Every `#if`, `#ifdef` and `#ifndef` needs its `#endif` in the same file, and `#elif` and `#else` stand between them, `#else` last and once.",
        "#ifdef N\ninit { skip }",
        "#ifdef N\n#endif\ninit { skip }";
    BAD_CONDITION = "P0015",
        "condition is not an integer expression",
        "The condition of `#if` and `#elif` is an expression over integers, `defined(X)` and macros that expand to such. Names that are no macros count as 0.",
        "#if 1 +\n#endif\ninit { skip }",
        "#if 1 + 1\n#endif\ninit { skip }";
    MACRO_ARGUMENTS = "P0016",
        "wrong arguments of a macro",
        "The macro is used with another number of arguments than it was defined with, or the parenthesis of its arguments is never closed.",
        "#define max(a,b) ((a) > (b) -> (a) : (b))\ninit { int x; x = max(1) }",
        "#define max(a,b) ((a) > (b) -> (a) : (b))\ninit { int x; x = max(1,2) }";
    EXPANSION_TOO_LARGE = "P0017",
        "expansion too large",
        "Macros or inlines that use each other several times grow exponentially. preempt stops at a few million tokens.",
        "#define a b b b\n/* … and so on through many macros */",
        "#define a 3\ninit { int x; x = a }";
    ERROR_DIRECTIVE = "P0018",
        "#error or #warning",
        "The model itself reports a problem with `#error` or `#warning`, usually because an option such as `-D N=3` is missing.",
        "#ifndef N\n#error define N\n#endif\ninit { skip }",
        "#define N 3\n#ifndef N\n#error define N\n#endif\ninit { skip }";
    MACRO_REDEFINED = "P0019",
        "macro is redefined",
        "A macro is defined again with another meaning. The new one holds from here on. Use `#undef` first if this is meant.",
        "#define N 3\n#define N 4\ninit { skip }",
        "#define N 3\n#undef N\n#define N 4\ninit { skip }";
    UNEXPECTED = "P0020",
        "unexpected token",
        "The text does not follow the grammar at this place. The message says what could have stood here.",
        "init { byte x; x = }",
        "init { byte x; x = 1 }";
    NESTED_TOO_DEEPLY = "P0021",
        "nested too deeply",
        "Blocks, parentheses or operators are nested deeper than any readable model needs. Generated text should use variables for intermediate values.",
        "init { skip } /* with hundreds of parentheses */",
        "init { skip }";
    MISSING_SEPARATOR = "P0022",
        "separator missing between statements",
        "Statements are separated by `;` or `->`, which mean the same. Only after a closing brace and after `else` the separator may be left out; `fi` and `od` need one.",
        "init { byte x; x = 1 x = 2 }",
        "init { byte x; x = 1; x = 2 }";
    EMBEDDED_C = "P0023",
        "embedded C is not supported",
        "A piece of C cannot stand at this place: `c_decl`, `c_state` and `c_track` stand outside of all bodies, `c_code` is a statement or stands outside of all bodies, `c_expr` is an expression.",
        "init { c_decl { int x; }; skip }",
        "c_decl { int x; }\ninit { skip }";
    EMPTY_SEQUENCE = "P0024",
        "statement missing",
        "Blocks, options and bodies contain at least one statement. Write `skip` to do nothing.",
        "init { }",
        "init { skip }";
    INLINE_RECURSION = "P0025",
        "inline uses itself",
        "An inline is substituted where it is used. One that uses itself, directly or through others, would be substituted forever.",
        "inline f() { f() }\ninit { f() }",
        "inline f() { skip }\ninit { f() }";
    INLINE_ARGUMENTS = "P0026",
        "wrong arguments of an inline",
        "The inline is used with another number of arguments than it was defined with.",
        "inline f(a) { a = 1 }\ninit { byte x; f() }",
        "inline f(a) { a = 1 }\ninit { byte x; f(x) }";
    MISPLACED_BREAK = "P0027",
        "break outside of a loop",
        "`break` leaves the innermost `do` or `for`. Here is none.",
        "init { break }",
        "init { do :: break od }";
    NEGATED_CHANNEL_TEST = "P0028",
        "channel test negated or compared",
        "`full`, `empty`, `nfull` and `nempty` may only be combined with `&&` and `||`. For the opposite of one use its partner: `nfull` says not full, `nempty` not empty.",
        "chan c = [1] of { byte };\ninit { !full(c) -> c!1 }",
        "chan c = [1] of { byte };\ninit { nfull(c) -> c!1 }";
    LABELLED_DECLARATION = "P0029",
        "label in front of a declaration",
        "A label names a statement. A declaration is none. Put the label in front of the next statement.",
        "init { a: byte x; x = 1; goto a }",
        "init { byte x; a: x = 1; goto a }";
    MISPLACED_RETURN = "P0030",
        "return outside of an inline",
        "`return` gives the value of an inline that is used as in `x = f(3)`. It has no meaning elsewhere.",
        "init { return 3 }",
        "inline f(a) { return a + 1 }\ninit { int x; x = f(3) }";
    UNKNOWN_INLINE = "P0031",
        "unknown inline",
        "A name followed by a parenthesis is the use of an inline or macro, which must be defined above its use. A process is started with `run`.",
        "init { f(3) }",
        "inline f(a) { skip }\ninit { f(3) }";
    UNKNOWN_NAME = "P0040",
        "name is not declared",
        "Variables and symbolic constants must be declared above their use, and a variable of a block is only known inside of it.",
        "init { conut = 1 }",
        "byte count;\ninit { count = 1 }";
    REDECLARED = "P0041",
        "name is declared twice",
        "Where a name is visible it cannot be declared again, not even in an inner block or for a local beside a global: Spin 6.5.2 has no hiding. Blocks beside each other may use the same name. A label cannot carry the name of a visible variable.",
        "byte x; int x;\ninit { x = 1 }",
        "byte x;\ninit { { int y; y = x }; { int y; y = x + 1 } }";
    UNKNOWN_LABEL = "P0042",
        "unknown label",
        "`goto` needs a label in the same process type, and a remote reference `P@label` one in process type P.",
        "init { goto there; here: skip }",
        "init { goto here; here: skip }";
    DUPLICATE_LABEL = "P0043",
        "label is defined twice",
        "In one process type a label can stand once. Labels in an inline belong to each use of it and do not clash.",
        "init { a: skip; a: skip }",
        "init { a: skip; b: skip }";
    UNKNOWN_PROCTYPE = "P0044",
        "unknown process type",
        "`run` and remote references name a process type. None of this name is declared anywhere in the model.",
        "proctype P() { skip }\ninit { run Q() }",
        "proctype P() { skip }\ninit { run P() }";
    UNKNOWN_TYPE = "P0045",
        "unknown type",
        "The types are bit, bool, byte, pid, short, int, unsigned, mtype, chan, and structures declared above with `typedef`.",
        "bite x;\ninit { x = 1 }",
        "byte x;\ninit { x = 1 }";
    UNKNOWN_FIELD = "P0046",
        "unknown field",
        "The structure has no field of this name, or the variable is not a structure.",
        "typedef T { byte a }; T v;\ninit { v.b = 1 }",
        "typedef T { byte a }; T v;\ninit { v.a = 1 }";
    LOCAL_IN_FORMULA = "P0047",
        "local variable in a formula",
        "A formula is about the whole system and can use global variables only. A local variable of a process is reached with a remote reference, such as `P[0]:x` or `P:x`.",
        "active proctype P() { byte x; x = 1 }\nltl p { [] (x < 2) }",
        "active proctype P() { byte x; x = 1 }\nltl p { [] (P:x < 2) }";
    NOT_A_CHANNEL = "P0050",
        "not a channel",
        "Sends, receives, len, full and empty need a channel.",
        "bool b;\ninit { b!1 }",
        "chan c = [1] of { byte };\ninit { c!1; c?_ }";
    NOT_AN_ARRAY = "P0051",
        "array without an index, or index without an array",
        "An array is used one element at a time, with an index from 0; only arrays have elements.",
        "byte a[3];\ninit { a = 1 }",
        "byte a[3];\ninit { a[0] = 1 }";
    INCOMPLETE_STRUCTURE = "P0052",
        "whole structure used as a value",
        "Structures cannot be assigned or compared as a whole, only field by field. Whole structures can be sent and received.",
        "typedef T { byte a }; T v; T w;\ninit { v = w }",
        "typedef T { byte a }; T v; T w;\ninit { v.a = w.a }";
    NOT_CONSTANT = "P0053",
        "constant expected",
        "Sizes of arrays, capacities of channels, priorities and numbers of processes are fixed before the model runs.",
        "init { byte n; byte a[n]; a[0] = n }",
        "#define N 3\ninit { byte a[N]; a[0] = 1 }";
    BAD_ARRAY_SIZE = "P0054",
        "impossible size of an array",
        "An array has 1 to 65535 elements.",
        "byte a[0];\ninit { skip }",
        "byte a[1];\ninit { a[0] = 1 }";
    BAD_WIDTH = "P0055",
        "impossible number of bits",
        "`unsigned x : N` takes N bits, from 1 to 31. Only unsigned variables have a number of bits, and they must have one.",
        "unsigned x : 40;\ninit { x = 1 }",
        "unsigned x : 5;\ninit { x = 1 }";
    MESSAGE_LENGTH = "P0056",
        "too many fields in a message",
        "A send or receive names more fields than the channel's messages have, which is an error when it happens, as in Spin. A send of more fields than any channel of the model has, and a `for (m in c)` whose structure has not as many as the messages, are refused. A structure counts with all its fields.",
        "chan c = [1] of { byte };\ninit { c!1,2 }",
        "chan c = [1] of { byte, byte };\ninit { c!1,2; c?_,_ }";
    RUN_ARGUMENTS = "P0057",
        "wrong number of arguments in run",
        "`run` needs one argument for each parameter of the process type.",
        "proctype P(byte a) { printf(\"%d\", a) }\ninit { run P() }",
        "proctype P(byte a) { printf(\"%d\", a) }\ninit { run P(1) }";
    READ_ONLY = "P0058",
        "built-in or constant name misused",
        "`_pid`, `_nr_pr`, `_last` and `_priority` can be read only, `_` can be written only, and symbolic constants never change.",
        "init { _pid = 3 }",
        "init { byte x; x = _pid }";
    DUPLICATE_ELSE = "P0059",
        "second else",
        "A selection or loop has at most one option that starts with `else`.",
        "init { if :: else -> skip :: else -> skip fi }",
        "init { if :: false -> skip :: else -> skip fi }";
    CHANNEL_ARITHMETIC = "P0060",
        "arithmetic on a channel",
        "Channels can be compared for equality, assigned and sent. There is nothing to compute with them.",
        "chan c = [1] of { byte };\ninit { c++ }",
        "chan c = [1] of { byte };\ninit { c!1; c?_ }";
    TOO_MANY_MTYPES = "P0061",
        "too many symbolic constants",
        "A symbolic constant is stored in one byte, so a set of them holds at most 255. Use a second set, `mtype:kind`.",
        "mtype = { a1, a2 } /* and 300 more */",
        "mtype = { a1, a2 };\ninit { mtype x; x = a1 }";
    TEMPORAL_OPERAND = "P0062",
        "temporal formula used as a value",
        "`[]`, `<>`, `X`, `U`, `W`, `V`, `->` and `<->` make formulas. Formulas can be combined with `!`, `&&` and `||`, but not compared or added. `[]`, `<>` and `X` bind as tightly as `!`, so `[] x == 1` would compare a formula with 1; Spin accepts this and checks something else.",
        "byte x;\ninit { x = 1 }\nltl p { ([] x) + 1 }",
        "byte x;\ninit { x = 1 }\nltl p { [] (x + 1 > 0) }";
    BAD_FOR = "P0063",
        "for over something else",
        "`for (i in a)` lets i run over the indices of an array a; `for (m in c)` puts every message of channel c into the structure m.",
        "byte x;\ninit { byte i; for (i in x) { skip } }",
        "byte x[3];\ninit { byte i; for (i in x) { skip } }";
    RUN_IN_EXPRESSION = "P0064",
        "run inside a condition",
        "A condition is evaluated without effect, but `run` starts a process. It may stand alone or on the right of an assignment.",
        "proctype P() { skip }\ninit { run P() > 0 }",
        "proctype P() { skip }\ninit { pid p; p = run P() }";
    CONSTANT_RANGE = "P0065",
        "constant out of range",
        "The constant must lie in the range the message names.",
        "chan c = [70000] of { byte };\ninit { c!1; c?_ }",
        "chan c = [3] of { byte };\ninit { c!1; c?_ }";
    ARRAY_PARAMETER = "P0066",
        "array as a parameter",
        "A process type takes scalars, channels and structures. Pass an array through a global, or inside a structure.",
        "proctype P(byte a[2]) { skip }\ninit { run P(1) }",
        "proctype P(byte a) { printf(\"%d\", a) }\ninit { run P(1) }";
    NO_PROCESS = "P0067",
        "nothing ever runs",
        "A model starts with its `init` and its `active` process types. This one has neither, so there is nothing to check.",
        "proctype P() { skip }",
        "active proctype P() { skip }";
    CLAIM_ONLY = "P0068",
        "allowed in a never claim only",
        "`np_` says that no process is at a progress label. Only a never claim can ask this. `enabled` and `pc_value` are meant for claims, too; elsewhere they draw a warning, as in Spin.",
        "init { np_ }",
        "init { skip }\nnever { do :: np_ od }";
    ELSE_WITH_MESSAGES = "P0069",
        "else beside a send or receive",
        "`else` is taken when no other option can be. Whether a send or receive can be depends on the channel, and for a rendezvous on the partner, so Spin calls the combination dubious. Ask the channel first, with `nfull(c)`, `nempty(c)` or a poll `c?[x]`.",
        "chan c = [1] of { byte };\ninit { byte x; if :: c?x :: else fi; c!x }",
        "chan c = [1] of { byte };\ninit { byte x; if :: nempty(c) -> c?x :: else fi; c!x }";
    CHANNEL_PLACEMENT = "P0070",
        "channel created amid statements",
        "The channels of a process are created when it starts. A local channel with an initialiser must therefore be declared at the start of the body, before the first statement and outside of inner blocks and inlines, as in Spin.",
        "init { skip; chan c = [1] of { byte }; c!1; c?_ }",
        "init { chan c = [1] of { byte }; c!1; c?_ }";
    WRONG_SET = "P0071",
        "symbolic constant of another set",
        "Sets of symbolic constants such as `mtype:colour` are numbered each for itself, so the same number means something else in another set. Storing a constant of one set in a variable of another, and passing it to a process type, is refused, as in Spin; in comparisons, messages and between variables it draws a warning.",
        "mtype:colour = { red }; mtype:size = { big }; mtype:colour c;\ninit { c = big }",
        "mtype:colour = { red }; mtype:size = { big }; mtype:colour c;\ninit { c = red }";
    NUMBER_AS_CHANNEL = "P0072",
        "number assigned to a channel",
        "A variable of type chan holds a channel: one it was declared with, one assigned from another variable, or one received in a message. Numbers are no channels.",
        "chan c;\ninit { c = 1; c!1; c?_ }",
        "chan c = [1] of { byte }; chan d;\ninit { d = c; d!1; d?_ }";
    RECEIVED_TWICE = "P0073",
        "variable takes two fields of one message",
        "A receive stores every field in a variable of its own. Use `_` for a field that does not matter, and `eval(x)` to compare one.",
        "chan c = [1] of { byte, byte };\ninit { byte x; c!1,2; c?x,x }",
        "chan c = [1] of { byte, byte };\ninit { byte x; c!1,2; c?x,_ }";
    UNTRANSLATABLE = "P0074",
        "model cannot be translated",
        "The model is well-formed, but larger than preempt can represent (65,535 statements per process type, 255 process types, 255 states of a trace), or a claim or trace contains something that it cannot do.",
        "active proctype P() { skip; /* … 65,535 more … */ skip }",
        "active proctype P() { skip }";
    FORMULA_TOO_LARGE = "P0075",
        "formula is too large",
        "The automaton for the negated formula would be too large. Split a conjunction of formulas into several ltl blocks, and give long conditions a name by a macro over variables.",
        "byte x;\nltl p { <> (x == 1) && <> (x == 2) /* … and 100 more … */ }\ninit { x = 1 }",
        "byte x;\nltl p { <> (x == 1) }\ninit { x = 1 }";
    STEP_BORDER = "P0076",
        "jump across the border of a d_step",
        "A `d_step` is executed as one step, from its first statement to its last: no `goto` or `break` leads out of it or into it. A jump from outside to the `d_step` as a whole, and a loop that ends right in front of one, are refused too, as in Spin; a `skip` in between helps.",
        "byte x;\ninit { do :: d_step { x < 3 -> x++; break } od }",
        "byte x;\ninit { do :: d_step { x < 3 -> x++ }; break od }";
    UNLESS_IN_STEP = "P0077",
        "unless inside a d_step",
        "Nothing happens in the middle of a `d_step`, so an escape from it could never be taken.",
        "byte x;\ninit { d_step { x = 1; { x = 2 } unless { x == 3 } } }",
        "byte x;\ninit { { d_step { x = 1; x = 2 } } unless { x == 3 } }";
    MISPLACED_LABEL = "P0078",
        "label where no jump can lead to",
        "The first statement of a block, of an `atomic` or `d_step` sequence, or of either part of an `unless` has no control state of its own, so it cannot have a label, as in Spin. A label of the whole block stands in front of it.",
        "byte x;\ninit { atomic { again: x++; x < 3 -> goto again } }",
        "byte x;\ninit { again: atomic { x++; x < 3 -> goto again } }";
    EMPTY_LOOP = "P0079",
        "jump that leads back to itself",
        "A jump takes no step by itself when it follows a statement. A jump, or several, that come back to where they started without a statement in between lead to no control state, and are refused, as in Spin.",
        "init { again: goto again }",
        "init { again: skip; goto again }";
    UNUSED_VARIABLE = "P0080",
        "variable is never used",
        "Nothing reads or writes this variable. It still takes room in every state.",
        "byte x;\ninit { skip }",
        "byte x;\ninit { x = 1 }";
    UNUSED_LABEL = "P0081",
        "label is never used",
        "No `goto` and no formula refers to this label, and its name does not start with end, accept or progress, which have a meaning by themselves.",
        "init { here: skip }",
        "init { end: skip }";
    CHANNEL_NEVER_READ = "P0082",
        "channel is never received from",
        "Messages are sent into this channel, and nothing ever takes them out, so it fills up and blocks its senders.",
        "chan c = [1] of { byte };\ninit { c!1 }",
        "chan c = [1] of { byte };\ninit { c!1; c?_ }";
    DEAD_OPTION = "P0083",
        "option can never be taken",
        "The guard of this option is constantly false, or it is an `else` beside an option that is always possible.",
        "init { if :: true -> skip :: else -> skip fi }",
        "init { if :: true -> skip :: true -> skip fi }";
    TRUNCATED = "P0084",
        "value does not fit where it is stored",
        "A value is cut to the size of the variable, message field or parameter it is stored in, as in Spin. For a constant this is visible before anything runs. Other values are noticed when the reference interpreter meets them: `simulate` and `replay` warn once per place, and `check` adds a note to the counterexample it shows.",
        "byte x = 300;\ninit { x = 1 }",
        "short x = 300;\ninit { x = 1 }";
    LONG_LIST = "P0085",
        "more values than elements",
        "The list has more values than the array has elements; Spin ignores the rest.",
        "byte a[2] = { 1, 2, 3 };\ninit { a[0] = 1 }",
        "byte a[3] = { 1, 2, 3 };\ninit { a[0] = 1 }";
    SHORT_MESSAGE = "P0086",
        "fewer fields than the channel has",
        "To send or receive another number of fields than the channel has is an error when it happens, as in Spin. Write `_` to ignore a field on purpose.",
        "chan c = [1] of { byte, byte };\ninit { c!1; c?_ }",
        "chan c = [1] of { byte, byte };\ninit { c!1,0; c?_,_ }";
    INDEX_OUT_OF_BOUNDS = "P0087",
        "constant index out of bounds",
        "The index is constant and lies outside of the array. Reaching this place is an error.",
        "byte a[3];\ninit { a[3] = 1 }",
        "byte a[3];\ninit { a[2] = 1 }";
    FORMAT_ARGUMENTS = "P0088",
        "format and arguments do not match",
        "Each conversion of the format, such as `%d`, takes one argument.",
        "init { printf(\"%d %d\", 1) }",
        "init { printf(\"%d\", 1) }";
    TYPE_CLASH = "P0089",
        "channel and number mixed up",
        "A channel is sent, received or passed where the declaration has a number, or the other way round. Spin tells in its verbose mode (-v) only.",
        "chan c = [1] of { chan };\ninit { c!1; c?_ }",
        "chan c = [1] of { chan };\ninit { c!c; c?_ }";
    NO_CHANNEL = "P0090",
        "variable never holds a channel",
        "The variable has the type chan, but no channel is made for it with `[N] of { … }`, and none is ever assigned to it. Every send and receive through it is an error; a property that asks for its length counts as false there.",
        "chan c;\ninit { c!1; c?_ }",
        "chan c = [1] of { byte };\ninit { c!1; c?_ }";
    IGNORED_INITIALIZER = "P0091",
        "initial value of a structure is ignored",
        "The fields of a structure start with the initial values in its typedef. A value given for the whole structure, or a list for an array of structures, is ignored, as in Spin.",
        "typedef T { byte a }; T t = 3;\ninit { t.a = 1 }",
        "typedef T { byte a = 3 }; T t;\ninit { t.a = 1 }";
    TRACKED = "P0092",
        "c_state or c_track not understood",
        "The scope of `c_state` is \"Global\", \"Hidden\" or \"Local\" with the name of a process type. The third string of `c_track` is \"Matched\" or \"UnMatched\".",
        "c_state \"int x\" \"Somewhere\"\ninit { skip }",
        "c_state \"int x\" \"Global\"\ninit { skip }";
    UNCOMPILED = "P0093",
        "embedded C was not compiled",
        "The model contains C, which has to be compiled before the model can run. `check`, `simulate` and `replay` do so; `serve` and `lsp`, which open models unasked or for a page, do not.",
        "init { c_code { ; } } /* in `preempt serve` */",
        "init { skip }";
}
