//! Parses tokens to a program: a Pratt parser that resolves names, folds constants, and refuses scripts that always
//! fail.

use super::evaluate::fault;
use super::lexer::{Lexer, Token, TokenKind};
use super::operators;
use super::program::{
    AssignOperator, Binary, Expression, ExpressionId, Operand, Place, Prefix, Program, Step,
};
use super::term::{First, Kind, Term};
use super::{Access, Names, ScriptError};
use crate::bt::Enums;
use crate::bt::value::Value;

/// Maximum nesting of one script: brackets, prefixes and operators within operators. Prevents a stack overflow by a
/// file; scripts written by people are far below it.
const MAX_DEPTH: usize = 200;
/// Maximum length of one script, in bytes.
const MAX_BYTES: usize = 1 << 20;

const ASSIGN: u8 = 2;
const TERNARY: u8 = 4;
const COMPARE: u8 = 10;
const PREFIX: u8 = 20;

fn power(operator: Binary) -> u8 {
    match operator {
        Binary::Or => 6,
        Binary::And => 8,
        Binary::BitOr | Binary::BitXor => 12,
        Binary::BitAnd => 14,
        Binary::Add | Binary::Subtract | Binary::Concatenate => 16,
        Binary::Multiply | Binary::Divide => 18,
    }
}

type Parsed<T> = Result<T, Box<ScriptError>>;

pub(super) struct Parser<'p> {
    text: &'p str,
    enums: &'p Enums,
    names: &'p mut dyn Names,
    lexer: Lexer<'p>,
    token: Token,
    depth: usize,
    /// Whether every run of the script evaluates the current part. If so, a constant that always fails is an error now.
    /// The branches of `?:` and the later operands of a chain of comparisons are not always evaluated.
    certain: bool,
    program: Program,
}

impl<'p> Parser<'p> {
    pub(super) fn new(
        text: &'p str,
        enums: &'p Enums,
        names: &'p mut dyn Names,
    ) -> Result<Self, ScriptError> {
        if text.len() > MAX_BYTES {
            return Err(ScriptError {
                message: format!(
                    "the maximum length of a script is {MAX_BYTES} bytes; this one has {}",
                    text.len()
                ),
                range: 0..text.len(),
            });
        }
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Self {
            text,
            enums,
            names,
            lexer,
            token,
            depth: 0,
            certain: true,
            program: Program::default(),
        })
    }

    /// Parses the whole text.
    pub(super) fn script(mut self) -> Result<Program, ScriptError> {
        self.statements().map_err(|error| *error)?;
        for (form, range) in self.lexer.outdated() {
            self.names.outdated(form, range);
        }
        Ok(self.program)
    }

    fn statements(&mut self) -> Parsed<()> {
        loop {
            if self.token.kind == TokenKind::End {
                break;
            }
            let term = self.term(0)?;
            let statement = self.expression(term);
            self.program.statements.push(statement);
            while self.token.kind == TokenKind::Semicolon {
                self.advance()?;
            }
        }
        if self.program.statements.is_empty() {
            let message = "Empty Script: write at least one expression, or remove the attribute";
            return Err(fault(message.to_owned(), place(0, self.text.len())));
        }
        Ok(())
    }

    fn advance(&mut self) -> Parsed<Token> {
        let before = self.token;
        self.token = self.lexer.next().map_err(Box::new)?;
        Ok(before)
    }

    /// Parses a first operand and every following operator that binds at least as tightly as `least`.
    fn term(&mut self, least: u8) -> Parsed<Term> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("the script is nested more than {MAX_DEPTH} deep: split it");
            return Err(fault(message, spot(self.token)));
        }
        let mut term = self.first()?;
        loop {
            match self.token.kind {
                TokenKind::Assign(operator) if least <= ASSIGN => term = self.assignment(operator, &term)?,
                TokenKind::Question if least <= TERNARY => self.choice(&mut term)?,
                TokenKind::Comparison(operator) if least <= COMPARE => {
                    self.advance()?;
                    let chained =
                        matches!(term.links.last(), Some(link) if matches!(link.step, Step::Compare(..)));
                    let right = self.uncertain(chained, |parser| parser.term(COMPARE + 1))?;
                    self.resolve(&mut term);
                    let (right, right_value) = self.right(right);
                    let place = term.place.to(right_value.1);
                    if !chained {
                        self.operand(operator.symbol(), &right, place);
                        // In a chain, the right side of one comparison is the left side of the next.
                        if let Some(left) = term.only() {
                            self.operand(operator.symbol(), left, place);
                        }
                    }
                    if let (Some(left), Operand::Literal(right)) = (term.literal(), &right)
                        && let Err(message) = operators::compare(operator, left, right, self.enums)
                        && self.certain
                    {
                        return Err(fault(message, place));
                    }
                    term.push(Step::Compare(operator, right), place, Kind::Number);
                }
                TokenKind::Binary(operator) if least <= power(operator) => {
                    self.advance()?;
                    let right = self.term(power(operator) + 1)?;
                    self.binary(operator, &mut term, right)?;
                }
                _ => break,
            }
        }
        self.resolve(&mut term);
        self.depth -= 1;
        Ok(term)
    }

    fn first(&mut self) -> Parsed<Term> {
        let token = self.token;
        let literal = |value| Term::constant(value, spot(token));
        let operator = match token.kind {
            TokenKind::Integer(number) => {
                self.advance()?;
                return Ok(literal(Value::Int(number)));
            }
            TokenKind::Real(number) => {
                self.advance()?;
                return Ok(literal(Value::Real(number)));
            }
            TokenKind::Boolean(truth) => {
                self.advance()?;
                return Ok(literal(Value::Real(f64::from(u8::from(truth)))));
            }
            TokenKind::Text => {
                self.advance()?;
                let text = self.text.get(token.start + 1..token.end - 1).unwrap_or_default();
                return Ok(literal(Value::text(text)));
            }
            TokenKind::Name => {
                self.advance()?;
                return Ok(Term::name(spot(token)));
            }
            TokenKind::Open => {
                self.advance()?;
                return self.group(token);
            }
            TokenKind::Binary(Binary::Subtract) => Prefix::Negate,
            TokenKind::Complement => Prefix::Complement,
            TokenKind::Not => Prefix::Not,
            _ => return Err(self.unexpected("a value was expected here: a number, a text, a name or `(`")),
        };
        self.advance()?;
        let operand = self.term(PREFIX)?;
        let place = spot(token).to(operand.place);
        if let Some(value) = operand.literal() {
            match operators::prefix(operator, value) {
                Ok(value) => return Ok(Term::constant(value, place)),
                Err(message) if self.certain => return Err(fault(message, place)),
                Err(_) => {}
            }
        }
        if operand.kind == Kind::Text && self.certain {
            let message = "a prefix does not apply to text".to_owned();
            return Err(fault(message, place));
        }
        if let Some(only) = operand.only() {
            self.operand(operator.symbol(), only, place);
        }
        let operand = self.expression(operand);
        Ok(Term::operand(
            Operand::Prefix(operator, operand, place),
            Kind::Number,
            place,
        ))
    }

    /// Parses the content of brackets. A single operand stays an operand, so `(x) := 1` assigns.
    fn group(&mut self, open: Token) -> Parsed<Term> {
        if self.token.kind == TokenKind::Name {
            let name = self.token;
            let mut ahead = self.lexer.clone();
            if let Ok(close) = ahead.next()
                && close.kind == TokenKind::Close
            {
                self.advance()?;
                self.advance()?;
                return Ok(Term::name(spot(name)));
            }
        }
        let inner = self.term(0)?;
        if self.token.kind != TokenKind::Close {
            return Err(match self.token.kind {
                TokenKind::End => fault("this bracket is not closed: add `)`".to_owned(), spot(open)),
                _ => self.unexpected("`)` or an operator was expected here"),
            });
        }
        let close = self.advance()?;
        let (kind, place) = (inner.kind, spot(open).to(spot(close)));
        let (operand, _) = self.right(inner);
        Ok(Term::operand(operand, kind, place))
    }

    fn binary(&mut self, operator: Binary, term: &mut Term, right: Term) -> Parsed<()> {
        self.resolve(term);
        let kinds = (term.kind, right.kind);
        let (right, (_, right_place)) = self.right(right);
        let place = term.place.to(right_place);
        self.operand(operator.symbol(), &right, place);
        if let Some(left) = term.only() {
            self.operand(operator.symbol(), left, place);
        }
        if let (Some(left), Operand::Literal(right)) = (term.literal(), &right) {
            match operators::binary(operator, left, right) {
                Ok(value) if !value.is_empty() => {
                    *term = Term::constant(value, place);
                    return Ok(());
                }
                Err(message) if self.certain => return Err(fault(message, place)),
                _ => {}
            }
        }
        let (kind, refusal) = match (operator, kinds) {
            (Binary::Concatenate, (Kind::Number, Kind::Number)) => (
                Kind::Unknown,
                Some("`..` joins two texts, or a text and a number; it does not apply to two numbers"),
            ),
            (Binary::Concatenate, (Kind::Text, _) | (_, Kind::Text)) => (Kind::Text, None),
            (Binary::Concatenate, _) => (Kind::Unknown, None),
            (Binary::Add, (Kind::Text, Kind::Number) | (Kind::Number, Kind::Text)) => (
                Kind::Unknown,
                Some("`+` does not apply to a text and a number; use `..` to join them"),
            ),
            (Binary::Add, (Kind::Text, _) | (_, Kind::Text)) => (Kind::Text, None),
            (Binary::Add, (Kind::Number, _) | (_, Kind::Number)) => (Kind::Number, None),
            (Binary::Add, _) => (Kind::Unknown, None),
            (_, (Kind::Text, _) | (_, Kind::Text)) => {
                (Kind::Number, Some("this operator does not apply to text"))
            }
            _ => (Kind::Number, None),
        };
        if let Some(message) = refusal.filter(|_| self.certain) {
            return Err(fault(message.to_owned(), place));
        }
        term.push(Step::Binary(operator, right), place, kind);
        Ok(())
    }

    fn choice(&mut self, term: &mut Term) -> Parsed<()> {
        self.resolve(term);
        let question = self.advance()?;
        let then = self.uncertain(true, |parser| parser.term(0))?;
        if self.token.kind != TokenKind::Colon {
            return Err(match self.token.kind {
                TokenKind::End => fault(
                    "this `?` has no `:` with the other value".to_owned(),
                    spot(question),
                ),
                _ => self.unexpected("`:` or an operator was expected here"),
            });
        }
        self.advance()?;
        let otherwise = self.uncertain(true, |parser| parser.term(TERNARY))?;
        if let Some(value) = term.literal()
            && let Err(message) = operators::choice(value)
            && self.certain
        {
            return Err(fault(message, term.place));
        }
        let kind = if then.kind == otherwise.kind {
            then.kind
        } else {
            Kind::Unknown
        };
        let place = term.place.to(otherwise.place);
        let (then, otherwise) = (self.expression(then), self.expression(otherwise));
        term.push(Step::Choose(then, otherwise), place, kind);
        Ok(())
    }

    fn assignment(&mut self, operator: AssignOperator, term: &Term) -> Parsed<Term> {
        let (First::Name, true) = (&term.first, term.links.is_empty()) else {
            let help = if operator == AssignOperator::Existing {
                "; `==` compares"
            } else {
                ""
            };
            let message = format!("the left side of `{}` must be a name{help}", operator.symbol());
            return Err(fault(message, term.place));
        };
        self.advance()?;
        let access = match operator {
            AssignOperator::Create => Access::Create,
            _ => Access::Assign,
        };
        let name = term.place.range();
        let slot = self.names.slot(&self.text[name.clone()], access, name);
        let value = self.term(0)?;
        let calculates = !matches!(operator, AssignOperator::Create | AssignOperator::Existing);
        let (kind, place) = (value.kind, term.place.to(value.place));
        if calculates && operator != AssignOperator::Add && kind == Kind::Text && self.certain {
            let message = format!("`{}` does not apply to text", operator.symbol());
            return Err(fault(message, place));
        }
        if self.certain {
            if calculates {
                self.names.calculates(slot, operator.symbol(), place.range());
            } else if let Some(literal) = value.literal() {
                self.names.assigns(slot, literal, place.range());
            }
        }
        let assign = Operand::Assign(operator, slot, self.expression(value), term.place);
        // An assigned value takes the type of the entry.
        Ok(Term::operand(assign, Kind::Unknown, place))
    }

    /// Reports an entry that is an operand of an operation in every run of the script.
    fn operand(&mut self, operator: &'static str, operand: &Operand, place: Place) {
        if let (Operand::Read(slot, _), true) = (operand, self.certain) {
            self.names.calculates(*slot, operator, place.range());
        }
    }

    /// Resolves a name that is read: an enumeration name becomes its number, any other name an entry.
    fn resolve(&mut self, term: &mut Term) {
        if !matches!(term.first, First::Name) {
            return;
        }
        let name = &self.text[term.place.range()];
        term.first = First::Operand(match self.enums.get(name) {
            Some(number) => {
                term.kind = Kind::Number;
                Operand::Literal(Value::Real(number as f64))
            }
            None => {
                let slot = self.names.slot(name, Access::Read, term.place.range());
                Operand::Read(slot, term.place)
            }
        });
    }

    /// Converts a finished term to an operand, with its kind and place.
    fn right(&mut self, term: Term) -> (Operand, (Kind, Place)) {
        let known = (term.kind, term.place);
        match term {
            Term {
                first: First::Operand(operand),
                links,
                ..
            } if links.is_empty() => (operand, known),
            term => (Operand::Group(self.expression(term)), known),
        }
    }

    fn expression(&mut self, mut term: Term) -> ExpressionId {
        self.resolve(&mut term);
        let id = ExpressionId(self.program.expressions.len() as u32);
        if let First::Operand(first) = term.first {
            self.program.expressions.push(Expression {
                first,
                links: term.links.into_boxed_slice(),
            });
        }
        id
    }

    fn uncertain<T>(&mut self, uncertain: bool, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.certain;
        self.certain = before && !uncertain;
        let result = read(self);
        self.certain = before;
        result
    }

    fn unexpected(&self, message: &str) -> Box<ScriptError> {
        if self.token.kind == TokenKind::End {
            return fault(
                format!("the script ends too early: {message}"),
                place(0, self.text.len()),
            );
        }
        fault(message.to_owned(), spot(self.token))
    }
}

fn place(start: usize, end: usize) -> Place {
    // `MAX_BYTES` limits the length of a script.
    Place {
        start: start as u32,
        end: end as u32,
    }
}

fn spot(token: Token) -> Place {
    place(token.start, token.end)
}
