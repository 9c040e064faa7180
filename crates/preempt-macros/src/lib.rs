//! `#[preempt::test]`: an ordinary `#[test]` whose body is explored.
//!
//! Written against `proc_macro` alone: the attribute is short, and a test dependency should not
//! pull a parser of all of Rust into every build.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Turns a function into a test that runs its body once per partial order.
///
/// `#[preempt::test]` iterates preemption bounds within the default time. Options, all optional:
/// `preemptions = 2`, `stale = 1`, `memory = "sc"`, `unbounded`, `strict`, `min_preemptions = 1`, `time = "30s"`, `threads = 4`,
/// `steps = 10000`, `states = 1000000`, `executions = 1000`, `stack = 1048576`, `timeouts = 1`, `spurious = 1`,
/// `daemons`, `require_join`, `reuse_addresses`. The function may return a `Result`; an error is a failure.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, function: TokenStream) -> TokenStream {
    match expand(arguments, function) {
        Ok(tokens) => tokens,
        Err((span, message)) => compile_error(span, &message),
    }
}

type Problem = (Span, String);

fn expand(arguments: TokenStream, function: TokenStream) -> Result<TokenStream, Problem> {
    let options = options(arguments)?;
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let name = function_name(&tokens)?;
    let body = match tokens.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body,
        other => {
            let span = other.map_or(Span::call_site(), |t| t.span());
            return Err((span, "`#[preempt::test]` needs a function with a body".into()));
        }
    };
    let returned = take_return_type(&mut tokens);
    let closure = match &returned {
        Some(_) => "|| ::preempt::Returned::check((|| -> RETURNED BODY)())",
        None => "|| BODY",
    };
    let source = format!(
        "{{ ::preempt::Check::new().name(concat!(module_path!(), \"::\", \"{name}\")){options}.test({closure}) }}"
    );
    let call: TokenStream =
        source.parse().map_err(|_| (Span::call_site(), "bad options".into()))?;
    let new_body = replace_body(call, &body, returned.as_ref());
    let mut output: TokenStream = "#[::core::prelude::v1::test]".parse().unwrap_or_default();
    output.extend(tokens);
    output.extend(new_body);
    Ok(output)
}

/// Takes `-> Type` off the signature, which is all that is left of the function.
fn take_return_type(tokens: &mut Vec<TokenTree>) -> Option<TokenStream> {
    let is = |token: &TokenTree, c| matches!(token, TokenTree::Punct(p) if p.as_char() == c);
    let function =
        tokens.iter().position(|t| matches!(t, TokenTree::Ident(i) if i.to_string() == "fn"))?;
    let parameters = function + 2;
    let arrow = (parameters + 1..tokens.len().saturating_sub(1))
        .find(|&i| is(&tokens[i], '-') && is(&tokens[i + 1], '>'))?;
    let returned = tokens.drain(arrow..).skip(2).collect();
    Some(returned)
}

fn function_name(tokens: &[TokenTree]) -> Result<String, Problem> {
    let position =
        tokens.iter().position(|t| matches!(t, TokenTree::Ident(i) if i.to_string() == "fn"));
    let Some(position) = position else {
        return Err((Span::call_site(), "`#[preempt::test]` goes on a function".into()));
    };
    if let Some(token) = tokens[..position]
        .iter()
        .find(|t| matches!(t, TokenTree::Ident(i) if i.to_string() == "async"))
    {
        let message = "call `preempt::future::block_on` inside a plain function instead";
        return Err((token.span(), message.into()));
    }
    let Some(TokenTree::Ident(name)) = tokens.get(position + 1) else {
        return Err((Span::call_site(), "the function has no name".into()));
    };
    match tokens.get(position + 2) {
        Some(TokenTree::Group(parameters)) if !parameters.stream().is_empty() => {
            Err((parameters.span(), "a test takes no arguments".into()))
        }
        _ => Ok(name.to_string()),
    }
}

fn options(arguments: TokenStream) -> Result<String, Problem> {
    let mut calls = String::new();
    let mut tokens = arguments.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let TokenTree::Ident(name) = &token else {
            return Err((token.span(), "expected the name of an option".into()));
        };
        let value = match tokens.peek() {
            Some(TokenTree::Punct(p)) if p.as_char() == '=' => {
                tokens.next();
                match tokens.next() {
                    Some(TokenTree::Literal(value)) => Some(value),
                    _ => return Err((name.span(), format!("`{name}` needs a value"))),
                }
            }
            _ => None,
        };
        calls.push_str(&option(name, value)?);
        match tokens.next() {
            None => break,
            Some(TokenTree::Punct(p)) if p.as_char() == ',' => {}
            Some(other) => return Err((other.span(), "expected a comma".into())),
        }
    }
    Ok(calls)
}

fn option(name: &Ident, value: Option<Literal>) -> Result<String, Problem> {
    let text = value.as_ref().map(Literal::to_string);
    let number = |method: &str| match &text {
        Some(text) if text.replace('_', "").parse::<u64>().is_ok() => {
            Ok(format!(".{method}({text})"))
        }
        _ => Err((name.span(), format!("`{name}` needs a number, as in `{name} = 2`"))),
    };
    match name.to_string().as_str() {
        "preemptions" => number("preemptions"),
        "stale" => number("stale"),
        "memory" => match text.as_deref() {
            Some("\"sc\"") => Ok(".memory(::preempt::Memory::Sc)".into()),
            Some("\"rc11\"") => Ok(".memory(::preempt::Memory::Rc11)".into()),
            _ => Err((name.span(), "`memory` is \"sc\" or \"rc11\"".to_string())),
        },
        "threads" => number("threads"),
        "steps" => number("steps"),
        "stack" => number("stack"),
        "timeouts" => number("timeouts"),
        "min_preemptions" => number("min_preemptions"),
        "spurious" => number("spurious"),
        "states" => number("states"),
        "executions" => number("executions"),
        "unbounded" | "strict" | "daemons" | "require_join" | "reuse_addresses"
            if text.is_none() =>
        {
            Ok(format!(".{name}()"))
        }
        "time" => {
            let text = text.unwrap_or_default();
            let millis = duration(text.trim_matches('"')).ok_or_else(|| {
                (
                    name.span(),
                    "`time` needs a duration such as \"500ms\", \"30s\" or \"2m\"".to_string(),
                )
            })?;
            Ok(format!(".time(::core::time::Duration::from_millis({millis}))"))
        }
        other => Err((
            name.span(),
            format!(
                "unknown option `{other}`; there are preemptions, stale, memory, unbounded, strict, min_preemptions, time, threads, \
                 steps, states, executions, stack, timeouts, spurious, daemons, require_join, reuse_addresses"
            ),
        )),
    }
}

fn duration(text: &str) -> Option<u64> {
    let (number, factor) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1000)
    } else {
        (text.strip_suffix('m')?, 60_000)
    };
    number.trim().parse::<u64>().ok()?.checked_mul(factor)
}

fn replace_body(stream: TokenStream, body: &Group, returned: Option<&TokenStream>) -> TokenStream {
    let mut output = TokenStream::new();
    for token in stream {
        match token {
            TokenTree::Ident(i) if i.to_string() == "BODY" => {
                output.extend([TokenTree::Group(body.clone())]);
            }
            TokenTree::Ident(i) if i.to_string() == "RETURNED" => {
                output.extend(returned.cloned());
            }
            TokenTree::Group(group) => {
                let inner = replace_body(group.stream(), body, returned);
                output.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
            }
            other => output.extend([other]),
        }
    }
    output
}

fn compile_error(span: Span, message: &str) -> TokenStream {
    let mut text = Literal::string(message);
    text.set_span(span);
    let mut bang = Punct::new('!', Spacing::Alone);
    bang.set_span(span);
    let arguments = Group::new(Delimiter::Brace, TokenTree::Literal(text).into());
    [
        TokenTree::Ident(Ident::new("compile_error", span)),
        TokenTree::Punct(bang),
        TokenTree::Group(arguments),
    ]
    .into_iter()
    .collect()
}
