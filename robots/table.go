package robots

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxWords = 20_000 // in a section
	maxWord  = 200    // bytes of a word
	maxShort = 20     // words of one byte in a section
)

// The sections of a table. The words of the first two mark the agents of people and of robots. The
// other two have the names of the operating systems and of the engines of browsers.
const (
	ofPeople  = "people"
	ofRobots  = "robots"
	ofSystems = "systems"
	ofEngines = "engines"
)

var sections = []string{ofPeople, ofRobots, ofSystems, ofEngines}

// builtIn is the text of the built-in table, in the format of the files that operators write.
//
//go:embed words.txt
var builtIn string

// Table tells the agents of people from the agents of robots by their words. It is immutable and
// safe for concurrent use.
type Table struct {
	people, robots, systems, engines *words
	text                             string // see Text
}

// BuiltIn returns the table that is built into the program.
func BuiltIn() *Table {
	table, err := Parse("")
	if err != nil {
		panic("the table of agents in the program: " + err.Error())
	}
	return table
}

// Parse applies the changes in a text to the built-in table. Its error names the line or section
// that is wrong.
func Parse(text string) (*Table, error) {
	entries, err := change(nil, builtIn)
	if err == nil {
		entries, err = change(entries, text)
	}
	if err != nil {
		return nil, err
	}
	lists := make(map[string]*words, len(sections))
	for _, section := range sections {
		lists[section] = newWords(slices.Collect(maps.Values(entries[section])))
		if len(lists[section].short) > maxShort {
			return nil, fmt.Errorf("[%s] has more than %d words of one byte", section, maxShort)
		}
	}
	return &Table{
		people: lists[ofPeople], robots: lists[ofRobots], systems: lists[ofSystems],
		engines: lists[ofEngines], text: textOf(entries),
	}, nil
}

// Text returns all words of the table in the format of Parse. Parse makes the same table of this
// text, even in a version of the program with other built-in words.
func (t *Table) Text() string { return t.text }

func textOf(entries map[string]map[string]word) string {
	var text strings.Builder
	for _, section := range sections {
		text.WriteString("[only " + section + "]\n")
		for _, entry := range slices.Sorted(maps.Keys(entries[section])) {
			text.WriteString(entry + "\n")
		}
	}
	return text.String()
}

// change applies the changes in a text to a copy of base, which has the entries of each section.
func change(base map[string]map[string]word, text string) (map[string]map[string]word, error) {
	entries := make(map[string]map[string]word, len(sections))
	for _, section := range sections {
		entries[section] = maps.Clone(base[section])
		if entries[section] == nil {
			entries[section] = make(map[string]word)
		}
	}
	var section string
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		var err error
		switch {
		case !utf8.ValidString(line):
			err = errors.New("the line is not UTF-8")
		case strings.ContainsRune(line, 0):
			err = errors.New("the line has the character NUL")
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section, err = begin(entries, line)
		default:
			err = enter(entries[section], line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d, %.40q: %w", number, line, err)
		}
	}
	return entries, nil
}

// begin returns the name of the section that a line begins. If the line is [only SECTION], begin
// first removes all words of the section.
func begin(entries map[string]map[string]word, line string) (string, error) {
	name, replaces := strings.CutPrefix(strings.Trim(line, "[]"), "only ")
	if !slices.Contains(sections, name) {
		return "", fmt.Errorf(
			"write [SECTION] or [only SECTION], with one of %s", strings.Join(sections, ", "),
		)
	}
	if replaces {
		clear(entries[name])
	}
	return name, nil
}

// enter adds the word of a line to a section, or removes it.
func enter(section map[string]word, line string) error {
	if section == nil {
		return errors.New("write a section before the first word, such as [robots]")
	}
	entry := strings.ToLower(line)
	if removed, ok := strings.CutPrefix(entry, "- "); ok {
		removed = strings.TrimSpace(removed)
		if _, known := section[removed]; !known {
			return errors.New("the section has no such word to remove")
		}
		delete(section, removed)
		return nil
	}
	of, err := newWord(entry)
	if err != nil {
		return err
	}
	if section[entry] = of; len(section) > maxWords {
		return fmt.Errorf("a section has at most %d words", maxWords)
	}
	return nil
}
