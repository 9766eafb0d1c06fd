package robots

// This file makes the name that a click keeps of an agent, so that changed words can judge the
// click later. A click does not keep the whole agent, because the version of a rare browser, the
// model of a phone or an address in it may identify a person. Names of programs alone do not.

import (
	"slices"
	"strings"
)

const (
	// MaxName is the largest length of a name, in bytes.
	MaxName = 32
	// maxDigits is the maximum number of digits in a name. A name with more digits probably has a
	// counter.
	maxDigits = 4
)

// ordinary are the names of programs, in lower case, that most browsers send. They do not help to
// tell senders apart.
var ordinary = strings.Fields(`
	mozilla applewebkit webkit khtml like gecko chrome chromium crios safari version mobile
	mobilesafari tablet firefox fxios focus edg edga edgios edge edgw opr opt opera opera.mini
	presto trident msie netscape seamonkey vivaldi samsungbrowser miuibrowser huaweibrowser
	heytapbrowser vivobrowser ucbrowser yabrowser yowser yptst silk ubuntu debian fedora linux
	android windows macintosh x11 compatible u en tv language ddg duckduckgo brave gsa`)

// Name returns the names of programs in an agent, separated by blanks, or an empty string. It omits
// ordinary names, versions, text in brackets, and names with characters other than ASCII letters,
// digits and ._-+:! signs. It also omits a name if the result would otherwise have more than
// MaxName bytes or maxDigits digits.
func Name(agent string) string {
	var name strings.Builder
	digits := 0
	for product := range strings.FieldsFuncSeq(uncommented(agent), isSeparator) {
		product, _, _ = strings.Cut(strings.TrimLeft(product, "/"), "/")
		product = unversioned(product)
		if product == "" || slices.Contains(ordinary, strings.ToLower(product)) {
			continue
		}
		length, more := len(product), countDigits(product)
		if name.Len() > 0 {
			length++
		}
		if name.Len()+length > MaxName || digits+more > maxDigits {
			continue
		}
		if name.Len() > 0 {
			name.WriteByte(' ')
		}
		name.WriteString(product)
		digits += more
	}
	return name.String()
}

// uncommented returns the first MaxLength bytes of an agent, with blanks in place of text in
// brackets. An unclosed bracket extends to the end.
func uncommented(agent string) string {
	text := []byte(agent[:min(len(agent), MaxLength)])
	depth := 0
	for i, b := range text {
		switch b {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			depth = max(0, depth-1)
		default:
			if depth == 0 {
				continue
			}
		}
		text[i] = ' '
	}
	return string(text)
}

func isSeparator(r rune) bool { return r <= ' ' || strings.ContainsRune(`;,|"`, r) }

// unversioned returns the name of a product without the version. It returns an empty string if no
// name is left, or if the product has characters that names do not have, such as those of a mail
// address.
func unversioned(product string) string {
	for i := range len(product) {
		b := product[i]
		if !isLetter(b|0x20) && !isDigit(b) && !strings.ContainsRune("._-+:!", rune(b)) {
			return ""
		}
	}
	for i := 1; i+1 < len(product); i++ { // a dot or the like between digits belongs to a version
		if isDigit(product[i-1]) && isDigit(product[i+1]) && !isLetter(product[i]|0x20) &&
			!isDigit(product[i]) {
			product = strings.TrimRight(product[:i], "0123456789")
		}
	}
	if bare := strings.TrimRight(product, "0123456789._-:"); countDigits(bare) == 0 {
		product = bare
	}
	product = strings.Trim(product, "._-")
	plain := strings.ToLower(product)
	if !strings.ContainsAny(plain, "abcdefghijklmnopqrstuvwxyz") || plain == "v" {
		return ""
	}
	return product
}

func countDigits(text string) (n int) {
	for i := range len(text) {
		if isDigit(text[i]) {
			n++
		}
	}
	return n
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// Program returns the name that a click keeps of an agent. This is the Name of the agent, or
// an empty string if the table gives the name another verdict than the whole agent. robot is the
// verdict for the agent. human reports whether the click records that LooksHuman is true for the
// agent.
func (t *Table) Program(agent string, robot, human bool) string {
	name := Name(agent)
	if t.Rejudge(name, robot, human) != robot {
		return ""
	}
	return name
}

// Rejudge reports whether the sender of a recorded click is a robot by the words of the table.
// program is what Program returned for the click, and robot and human are the arguments of that
// call. A click without a program keeps its verdict. If the program has no word of the sections
// robots and people, the sender is a robot only if robot is true and human is false.
func (t *Table) Rejudge(program string, robot, human bool) bool {
	if program == "" {
		return robot
	}
	switch t.judge(lower(program)) {
	case saysRobot:
		return true
	case saysPerson:
		return false
	default:
		return robot && !human
	}
}
