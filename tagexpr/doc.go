// Package tagexpr parses and evaluates tag expressions, which select links by their tags. Of
// the packages of Linkledger it MUST import only typed.
//
//	+banana&+boxed          both            +banana|+boxed        either
//	+banana&~boxed          first, not second        (+a|+b)&(+c|~d)   brackets
//
// A label is unquoted, or in double quotes if it contains spaces or operators. "+" before an
// operand has no effect. "~" and "-" negate the operand. "&", "," and ";" mean and. "^" means
// either but not both. "|" means or. "&" binds tightest and "|" loosest. The labels archived,
// visited, ping, email_stats and protected stand for the flags of a link. ">2018-01-31" and
// "<2018-01-31" select links that were created after and before that day, UTC. Spaces between these
// parts have no effect.
package tagexpr
