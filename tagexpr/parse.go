package tagexpr

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of an expression. They protect the parser and the database.
const (
	MaxLength   = 4096 // bytes
	MaxOperands = 100
	MaxDepth    = 32 // of nested brackets and negations
)

// operators are the characters that end an unquoted label.
const operators = `&,;|^()"<>~+`

// SyntaxError describes an error in an expression, and its place.
type SyntaxError struct {
	Place   int // of the first wrong code point, from 1
	Problem string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("at character %d: %s", e.Place, e.Problem)
}

// Quote returns the expression that consists of one label. A label MUST NOT contain a quotation
// mark.
func Quote(label string) string {
	plain := !strings.HasPrefix(label, "-") && !strings.ContainsAny(label, operators) &&
		!strings.ContainsFunc(label, unicode.IsSpace)
	if plain {
		return label
	}
	return `"` + label + `"`
}

// Parse parses an expression. Its errors are *SyntaxError.
func Parse(text string) (*Expr, error) {
	p := &parser{text: text}
	if len(text) > MaxLength {
		return nil, &SyntaxError{
			Place: 1,
			Problem: fmt.Sprintf(
				"the expression has %d bytes, at most %d are allowed", len(text), MaxLength,
			),
		}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{Place: 1, Problem: "the expression is not UTF-8"}
	}
	root, err := p.binary(loosest)
	if err != nil {
		return nil, err
	}
	if p.next() != 0 {
		return nil, p.fail("an operator or the end was expected")
	}
	return &Expr{root: root}, nil
}

// parser is a recursive descent parser, with one method for each rule.
type parser struct {
	text     string
	at       int // byte offset
	operands int
	depth    int
}

// levels are the binary operators, the loosest first.
var levels = []struct {
	characters string
	operation  operation
}{{"|", or}, {"^", xor}, {"&,;", and}}

const loosest = 0

// binary parses operands with the operators in levels[level] between them. An operand may have the
// operators of the later levels in it.
func (p *parser) binary(level int) (*node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		c := p.next()
		if c == 0 || !strings.ContainsRune(levels[level].characters, c) {
			return left, nil
		}
		p.at++
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		left = &node{operation: levels[level].operation, left: left, right: right}
	}
}

// unary parses an operand with its prefixes.
func (p *parser) unary() (*node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > MaxDepth {
		return nil, p.fail(
			fmt.Sprintf("brackets and negations are nested more than %d deep", MaxDepth),
		)
	}
	switch p.next() {
	case '+':
		p.at++
		return p.unary()
	case '~', '-':
		p.at++
		negated, err := p.unary()
		return &node{operation: not, left: negated}, err
	case '(':
		p.at++
		inner, err := p.binary(loosest)
		if err != nil {
			return nil, err
		}
		if p.next() != ')' {
			return nil, p.fail("a closing bracket was expected")
		}
		p.at++
		return inner, nil
	}
	if p.operands++; p.operands > MaxOperands {
		return nil, p.fail(fmt.Sprintf("there are more than %d labels and dates", MaxOperands))
	}
	switch p.next() {
	case '>':
		return p.date(after)
	case '<':
		return p.date(before)
	case '"':
		return p.quoted()
	}
	return p.label()
}

func (p *parser) date(op operation) (*node, error) {
	p.at++
	p.next()
	word := p.word()
	day, err := time.Parse(time.DateOnly, word)
	if err != nil || day.Year() < 1 {
		return nil, p.fail("a calendar date in the form YYYY-MM-DD was expected")
	}
	p.at += len(word)
	return &node{operation: op, day: day}, nil
}

func (p *parser) quoted() (*node, error) {
	label, _, closed := strings.Cut(p.text[p.at+1:], `"`)
	if !closed {
		return nil, p.fail("the quotation mark is never closed")
	}
	if strings.TrimSpace(label) == "" {
		return nil, p.fail("there is no label between the quotation marks")
	}
	p.at += len(label) + 2
	return operand(strings.TrimSpace(label)), nil
}

func (p *parser) label() (*node, error) {
	word := p.word()
	if word == "" {
		return nil, p.fail("a label, a date or an opening bracket was expected")
	}
	p.at += len(word)
	return operand(word), nil
}

// word returns the text up to the next operator or space.
func (p *parser) word() string {
	rest := p.text[p.at:]
	end := strings.IndexFunc(
		rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(operators, r) },
	)
	if end < 0 {
		return rest
	}
	return rest[:end]
}

// next skips spaces and returns the next character, or 0 at the end.
func (p *parser) next() rune {
	rest := strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace)
	p.at = len(p.text) - len(rest)
	if rest == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(rest)
	if r == 0 {
		return unicode.ReplacementChar // NUL in the text is not the end
	}
	return r
}

func (p *parser) fail(problem string) error {
	return &SyntaxError{Place: utf8.RuneCountInString(p.text[:p.at]) + 1, Problem: problem}
}
