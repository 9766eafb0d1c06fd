package robots

import (
	"errors"
	"strings"
)

// maxGap bounds how far apart the two texts of a word with a * inside may be. The second text ends
// at most maxGap bytes after the end of the first one.
const maxGap = 64

// word is an entry of a table, in lower case.
type word struct {
	// text is the entry up to a * inside it. then is what follows the *, or empty if there is none.
	text, then string
	anchored   bool // the agent must begin with the word: ^text
	inside     bool // letters may stand before the word: *text
	open       bool // letters may follow the word: text*
}

// newWord parses an entry: a text, optionally with a ^ or * before it, a * after it, and one *
// inside.
func newWord(entry string) (w word, err error) {
	entry, w.anchored = strings.CutPrefix(entry, "^")
	entry, w.inside = strings.CutPrefix(entry, "*")
	entry, w.open = strings.CutSuffix(entry, "*")
	if len(entry) == 0 || len(entry) > maxWord || w.anchored && w.inside {
		return word{}, errors.New("write ^ or * before 1 to 200 bytes of text, and * after it")
	}
	w.inside = w.inside || !w.anchored && !isLetter(entry[0])
	w.open = w.open || !isLetter(entry[len(entry)-1])
	w.text, w.then, _ = strings.Cut(entry, "*")
	if strings.Contains(w.then, "*") {
		return word{}, errors.New("a text has at most one * in it")
	}
	return w, nil
}

// match reports whether the agent has the word at the offset from. end is the offset after the
// word.
func (w word) match(agent string, from int) (end int, ok bool) {
	if w.anchored && from > 0 || !strings.HasPrefix(agent[from:], w.text) {
		return 0, false
	}
	end = from + len(w.text)
	if w.then != "" {
		gap := strings.Index(agent[end:min(len(agent), end+maxGap)], w.then)
		if gap < 0 {
			return 0, false
		}
		end += gap + len(w.then)
	}
	return end, w.open || end == len(agent) || !isLetter(agent[end])
}

// words finds the entries of one section in an agent.
type words struct {
	// heads has, for each pair of bytes, the index in groups of the words that begin with the pair,
	// or 0 if no word does. The highest bit of each byte is ignored. Without heads, find would
	// compare every word at each offset of an agent, which takes too long.
	heads  [1 << 14]uint16
	groups [][]word // groups[0] is empty
	short  []word   // words of one byte
}

func newWords(entries []word) *words {
	w := &words{groups: make([][]word, 1)}
	for _, of := range entries {
		if len(of.text) < 2 {
			w.short = append(w.short, of)
			continue
		}
		group := &w.heads[head(of.text)]
		if *group == 0 {
			*group = uint16(len(w.groups)) //nolint:gosec // at most one group for each head
			w.groups = append(w.groups, nil)
		}
		w.groups[*group] = append(w.groups[*group], of)
	}
	return w
}

// head returns the index in heads for a text of at least two bytes.
func head(text string) int { return int(text[0]&0x7f)<<7 | int(text[1]&0x7f) }

// span is where a word stands in an agent.
type span struct{ from, to int }

// find calls found for each place of a word in an agent until found returns false. The agent MUST
// be in lower case.
func (w *words) find(agent string, found func(span) bool) {
	for i := 0; i+1 < len(agent); i++ {
		for _, of := range w.groups[w.heads[head(agent[i:])]] {
			if !of.inside && i > 0 && isLetter(agent[i-1]) && isLetter(agent[i]) {
				continue
			}
			if end, ok := of.match(agent, i); ok && !found(span{i, end}) {
				return
			}
		}
	}
	for _, of := range w.short {
		for i := range len(agent) {
			if end, ok := of.match(agent, i); ok && !found(span{i, end}) {
				return
			}
		}
	}
}

// has reports whether an agent has one of the words.
func (w *words) has(agent string) (has bool) {
	w.find(agent, func(span) bool {
		has = true
		return false
	})
	return has
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' }
