//! The screen of a simulation. What colour says, words and marks say as well.

use super::session::{Possible, Session};
use preempt_core::{Change, Describe, Switch, counted};
use preempt_report::lanes::Lanes;
use preempt_report::{Cast, Look, keys, visible};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, session: &Session<'_>) {
    let area = frame.area();
    let steps = (session.possible.len() as u16 + 2).clamp(4, 12).min(area.height / 2);
    let [head, body, foot, line] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(steps),
        Constraint::Length(1),
    ])
    .areas(area);
    // A narrow screen has no room for the source.
    let shares: &[Constraint] = match area.width {
        ..90 => &[Constraint::Length(0), Constraint::Percentage(60), Constraint::Percentage(40)],
        _ => &[Constraint::Percentage(34), Constraint::Percentage(40), Constraint::Percentage(26)],
    };
    let columns = Layout::horizontal(shares).split(body);
    headline(frame, session, head);
    source(frame, session, columns[0]);
    path(frame, session, columns[1]);
    variables(frame, session, columns[2]);
    possible(frame, session, foot);
    last_line(frame, session, line);
    if session.shows_help {
        help(frame, area);
    }
}

/// Texts of a model may hold anything that a terminal would obey.
fn clean(text: &str) -> String {
    visible(text, false).replace(['\n', '\t'], " ")
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn framed(title: &str) -> Block<'_> {
    Block::new().borders(Borders::ALL).title(title)
}

fn headline(frame: &mut Frame<'_>, session: &Session<'_>, area: Rect) {
    let (steps, preemptions) = (session.execution.steps().len(), session.preemptions());
    let file = session.subject.sources.first().map_or("", |source| source.file.as_str());
    let text = format!(" {}   step {steps}   {}", clean(file), counted(preemptions, "preemption"));
    frame.render_widget(Paragraph::new(Span::styled(text, bold())), area);
}

/// The file with the lines at which processes stand: `>` for those that can move, `.` for those that wait.
fn source(frame: &mut Frame<'_>, session: &Session<'_>, area: Rect) {
    let Some(source) = session.subject.sources.first().filter(|_| area.width > 4) else { return };
    let positions = session.positions();
    let marked = session.possible.get(session.marked).map_or(0, |possible| possible.line);
    let rows = usize::from(area.height.saturating_sub(2));
    let first = (marked as usize).saturating_sub(rows / 2 + 1);
    let lines = source.text.lines().enumerate().skip(first).take(rows).map(|(at, text)| {
        let number = at as u32 + 1;
        let here: Vec<_> = positions.iter().filter(|(_, line, ..)| *line == number).collect();
        let mark = match (here.iter().any(|(.., moves)| *moves), here.is_empty()) {
            (true, _) => '>',
            (false, false) => '.',
            (false, true) => ' ',
        };
        let stop = if session.breakpoints.contains(&number) { '●' } else { ' ' };
        let style = match number == marked {
            true => bold().add_modifier(Modifier::REVERSED),
            false if mark == '>' => bold(),
            false => Style::new(),
        };
        Line::styled(format!("{stop}{mark}{number:>4} {}", clean(text)), style)
    });
    let lines: Vec<Line<'_>> = lines.collect();
    frame.render_widget(Paragraph::new(lines).block(framed("source")), area);
}

/// The steps taken so far, in lanes.
fn path(frame: &mut Frame<'_>, session: &Session<'_>, area: Rect) {
    let described = session.execution.described();
    let rows = usize::from(area.height.saturating_sub(2)).max(1);
    let end = described.len();
    let first = end.saturating_sub(rows);
    let look = Look::plain(usize::from(area.width.saturating_sub(2)).max(20));
    let mut cast = Cast::default();
    for (at, (name, ..)) in session.positions().iter().enumerate() {
        cast.add(at, name);
    }
    for step in &described[first..end] {
        cast.add(step.pid, &step.process);
    }
    let mut lanes = Lanes::new(cast, &look).starting_after(first);
    let header = lanes.header();
    let steps: String = described[first..end].iter().map(|step| lanes.step(step)).collect();
    let head: Vec<String> = header.lines().map(clean).collect();
    let lines: Vec<String> = steps.lines().map(clean).collect();
    // The newest steps are the ones to see.
    let hidden = lines.len().saturating_sub(rows.saturating_sub(head.len()));
    let text: Vec<Line<'_>> =
        head.into_iter().chain(lines.into_iter().skip(hidden)).map(Line::from).collect();
    let title = match session.path_length() {
        whole if whole > end => format!("path, up to step {end} of {whole}"),
        _ => "path".to_string(),
    };
    frame.render_widget(Paragraph::new(text).block(framed(&title)), area);
}

fn variables(frame: &mut Frame<'_>, session: &Session<'_>, area: Rect) {
    let state = session.execution.state();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (text, watch) in &session.watches {
        let value = watch.value(state).map_or_else(|| "no value".into(), |value| value.to_string());
        lines
            .push(Line::styled(format!("{} = {value}", clean(text)), Style::new().fg(Color::Cyan)));
    }
    let changed = session.execution.described().last().map_or(&[][..], |step| &step.changes);
    let all = session.subject.system.variables(state);
    let shown = all.iter().filter(|(name, _)| name.contains(&session.filter));
    let shown: Vec<_> = shown.collect();
    // What the last step changed comes first where there is no room for all.
    let is_new = |name: &str| changed.iter().any(|change| change.name == name);
    let room = usize::from(area.height.saturating_sub(2)).saturating_sub(lines.len());
    let (new, old): (Vec<_>, Vec<_>) = match shown.len() > room {
        true => shown.iter().copied().partition(|(name, _)| is_new(name)),
        false => (shown, Vec::new()),
    };
    for (name, value) in new.into_iter().chain(old) {
        let mark = if is_new(name) { '*' } else { ' ' };
        let style = if is_new(name) { bold() } else { Style::new() };
        lines.push(Line::styled(clean(&format!("{mark}{name} = {value}")), style));
    }
    let title = match session.filter.is_empty() {
        true => "variables".to_string(),
        false => format!("variables with {}", clean(&session.filter)),
    };
    frame.render_widget(Paragraph::new(lines).block(framed(&title)), area);
}

fn possible(frame: &mut Frame<'_>, session: &Session<'_>, area: Rect) {
    let rows = usize::from(area.height.saturating_sub(2)).max(1);
    let first = (session.marked + 1).saturating_sub(rows);
    let lines = session.possible.iter().enumerate().skip(first).take(rows).map(|(at, step)| {
        let style = if at == session.marked {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        };
        Line::styled(clean(&row(at, step)), style)
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let title = match session.possible.len() {
        0 => "no step is possible".to_string(),
        1 => "1 possible step".to_string(),
        count => format!("{count} possible steps"),
    };
    frame.render_widget(Paragraph::new(lines).block(framed(&title)), area);
}

/// Number, process, line, statement, what it costs, what it changes.
fn row(at: usize, step: &Possible) -> String {
    let cost = match step.switch {
        Switch::Preemption => "preemption",
        Switch::Forced => "switch",
        Switch::None => "",
    };
    let mut changes: Vec<String> = step.changes.iter().take(6).map(change).collect();
    changes.extend(step.fault.iter().map(|fault| format!("✗ {fault}")));
    format!(
        "{:>2}  {:<14} {:>4}  {:<28} {cost:<10}  {}",
        at + 1,
        step.process,
        step.line,
        step.text,
        changes.join(", ")
    )
}

fn change(change: &Change) -> String {
    match (&change.from, &change.to) {
        (Some(from), Some(to)) => format!("{}: {from} -> {to}", change.name),
        (None, Some(to)) => format!("{} = {to}", change.name),
        (_, None) => format!("{} is gone", change.name),
    }
}

fn last_line(frame: &mut Frame<'_>, session: &Session<'_>, area: Rect) {
    let text = match &session.prompt {
        Some((prompt, line)) => format!(" {}: {}█", prompt.title(), clean(line)),
        None => format!(" {}", clean(&session.message)),
    };
    let style =
        if session.message.starts_with('✗') { bold().fg(Color::Red) } else { Style::new() };
    frame.render_widget(Paragraph::new(Span::styled(text, style)), area);
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let keys = keys::text(keys::Place::Terminal);
    let height = (keys.lines().count() as u16 + 2).min(area.height);
    let width = 110.min(area.width);
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    let place = Rect::new(area.x + x, area.y + y, width, height);
    frame.render_widget(Clear, place);
    let text = Paragraph::new(keys)
        .wrap(Wrap { trim: false })
        .block(framed("keys (press any key to continue)"));
    frame.render_widget(text, place);
}

#[cfg(test)]
mod tests {
    use super::super::session::{Key, Session, Subject};
    use super::draw;
    use preempt_report::Source;
    use preempt_verify::Control;
    use preempt_verify::promela::{Settings, observed, read};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    const MODEL: &str = "byte counter, done;
chan q = [2] of { byte };
active [2] proctype adder()
{
	byte seen;
	seen = counter;
	counter = seen + 1;
	done++;
	q!seen
}
active proctype judge()
{
	done == 2 -> assert(counter == 2)
}
";

    /// A session with a screen of some size; `keys` are pressed one after the other.
    fn screen(text: &str, size: (u16, u16), keys: &str) -> String {
        let model = read("model.pml", text).unwrap();
        let settings = Settings::default();
        let system = observed(&model, &settings, &Control::new()).unwrap();
        let sources = vec![Source { file: "model.pml".into(), text: text.into() }];
        let (script, seed) = (Vec::new(), 7);
        let subject =
            Subject { model: &model, settings: &settings, system: &system, sources, script, seed };
        let mut session = Session::new(subject);
        for letter in keys.chars() {
            session.press(match letter {
                '\n' => Key::Enter,
                '\u{1b}' => Key::Escape,
                '\u{8}' => Key::Backspace,
                'v' => Key::Down,
                '^' => Key::Up,
                letter => Key::Char(letter),
            });
        }
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| draw(frame, &session)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let line = |y| (0..size.0).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..size.1).map(|y| line(y).trim_end().to_string() + "\n").collect()
    }

    #[test]
    fn everything_is_on_the_screen() {
        let shown = screen(MODEL, (130, 30), "");
        for wanted in [
            "model.pml   step 0   0 preemptions",
            "2 possible steps",
            "counter = 0",
            "adder(0):seen = 0",
            " >   6  seen = counter",
            " .  13  done == 2",
            " 1  adder(1)",
        ] {
            assert!(shown.contains(wanted), "{wanted} in\n{shown}");
        }
    }

    #[test]
    fn steps_show_what_they_cost_and_change() {
        // The first step of one adder, then one of the other: that one is stopped.
        let shown = screen(MODEL, (130, 30), "1");
        assert!(shown.contains("step 1   0 preemptions"), "{shown}");
        let other = shown
            .lines()
            .find(|line| line.contains(" adder(0)  ") && line.contains("seen = counter"));
        assert!(other.is_some_and(|line| line.contains("preemption")), "{shown}");
        assert!(shown.contains("counter: 0 -> 1"), "what taking it would change: {shown}");
        let shown = screen(MODEL, (130, 30), "12");
        assert!(shown.contains("step 2   1 preemption"), "{shown}");
        assert!(shown.contains("preemption 1"), "an arrow in the path: {shown}");
        let back = screen(MODEL, (130, 30), "12k");
        assert!(back.contains("step 1   0 preemptions"), "{back}");
    }

    /// The lost update by hand, up to the failing assertion.
    #[test]
    fn a_failure_can_be_walked_to() {
        let shown = screen(MODEL, (140, 34), "12udone == 2\n");
        assert!(shown.contains("done == 2: true after"), "{shown}");
        let shown =
            screen("byte x; active proctype p() { x = 1; assert(x == 2) }", (100, 20), "11");
        assert!(shown.contains("✗ model.pml:1: assertion violated: (x == 2)"), "{shown}");
        let shown = screen("byte x; active proctype p() { x == 1 }", (100, 20), "");
        assert!(
            shown.contains("deadlock: no process can move")
                && shown.contains("no step is possible"),
            "{shown}"
        );
    }

    #[test]
    fn watches_filters_and_breakpoints() {
        let shown = screen(MODEL, (130, 30), "wcounter + done * 2\nwlen(q)\n11");
        assert!(
            shown.contains("counter + done * 2 = 1") && shown.contains("len(q) = 0"),
            "{shown}"
        );
        let wrong = screen(MODEL, (130, 30), "wnothing + 1\n");
        assert!(wrong.contains("`nothing` is not declared"), "{wrong}");
        let left = screen(MODEL, (130, 30), "wcou\u{1b}");
        assert!(!left.contains("watch expression"), "{left}");
        let shown = screen(MODEL, (130, 30), "/seen\n");
        assert!(
            shown.contains("variables with seen") && !shown.contains(" counter = 0"),
            "{shown}"
        );
        // A breakpoint at the second statement, set where it is the marked one.
        let shown = screen(MODEL, (130, 30), "1Bgu\n");
        assert!(shown.contains("before line 7") && shown.contains("●>   7"), "{shown}");
        assert!(screen(MODEL, (130, 30), "u\n").contains("there is no breakpoint"));
    }

    #[test]
    fn every_size_and_every_key_is_survived() {
        for size in [(20, 6), (1, 1), (40, 10), (80, 24), (200, 60)] {
            screen(MODEL, size, "1vv\n^r?x/a\nuno\nw1\nWWggbBcnq9");
        }
        let evil = "byte x; active proctype p() { printf(\"\\x1b[2J\u{202e}evil\"); x = 1 }";
        let shown = screen(evil, (100, 20), "1");
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
        let help = screen(MODEL, (130, 30), "?");
        assert!(help.contains("run until a condition holds"), "{help}");
    }
}
