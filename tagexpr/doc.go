// Package tagexpr parses and evaluates tag expressions, which select links by their tags. It MUST
// NOT import other packages of Linkledger than typed.
//
//	+banana&+boxed          both            +banana|+boxed        either
//	+banana&~boxed          first, not second        (+a|+b)&(+c|~d)   brackets
//
// A label is unquoted, or in double quotes if it contains spaces or operators. "+" before an
// operand has no effect; "~" and "-" negate it. "&", "," and ";" mean and, "^" means either but not
// both, "|" means or; they bind in this order. The labels archived, visited, ping, email_stats and
// protected stand for the flags of a link, ">2018-01-31" and "<2018-01-31" for links that were
// created after and before that day, UTC. Spaces between these parts have no effect.
package tagexpr
