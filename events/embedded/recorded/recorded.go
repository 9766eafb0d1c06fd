// Package recorded has what real EventStoreDB servers answered to ordinary and odd calls, for
// tests.
package recorded

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// Versions are the servers that were asked.
var Versions = []string{"23.10", "24.10"} //nolint:gochecknoglobals // a constant

//go:embed *.txt
var files embed.FS

// Message is what a server sent, as JSON has it: without the names of oneofs, and with P for
// positions, U for ids and T for times. One that was recorded in part has no more than the name of
// its first field.
type Message map[string]any

// Case is one call.
type Case struct {
	Number   int
	Name     string
	Messages []Message
	InPart   bool   // the messages were
	Status   string // of an error: a code of gRPC. DEADLINE_EXCEEDED: no answer ever came.
	Details  string
	Trailers map[string]string
}

// Silent tells whether the server did not answer to the end.
func (c Case) Silent() bool { return c.Status == "DEADLINE_EXCEEDED" }

var (
	line      = regexp.MustCompile(`^ *(\d+) ([^:]+): (.*)$`)
	failed    = regexp.MustCompile(`^([A-Z_]+) \| (.*) \| (.*)$`)
	unquoted  = regexp.MustCompile(`:([UN])([,}])`)
	firstName = regexp.MustCompile(`^"?\{\\?"(\w+)`)
)

// Load returns the calls to a server by their numbers.
func Load(version string) (map[int]Case, error) {
	text, err := files.ReadFile(version + ".txt")
	if err != nil {
		return nil, err
	}
	cases := make(map[int]Case)
	for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(l, "#") {
			continue
		}
		parts := line.FindStringSubmatch(l)
		if parts == nil {
			return nil, fmt.Errorf("%s: malformed: %s", version, l)
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, err
		}
		c := Case{Number: number, Name: parts[2]}
		if err := c.parse(parts[3]); err != nil {
			return nil, fmt.Errorf("%s, call %d: %w", version, number, err)
		}
		cases[number] = c
	}
	return cases, nil
}

func (c *Case) parse(answer string) error {
	for part := range strings.SplitSeq(answer, " ; ") {
		if status := failed.FindStringSubmatch(part); status != nil {
			c.Status, c.Details = status[1], status[2]
			_ = json.Unmarshal([]byte(status[3]), &c.Trailers) // some were recorded in part
			continue
		}
		switch strings.Trim(part, `"`) {
		case "END", "(enough)", "(cut)":
			continue
		}
		var m Message
		if json.Unmarshal([]byte(unquoted.ReplaceAllString(part, `:"$1"$2`)), &m) != nil {
			name := firstName.FindStringSubmatch(part)
			if name == nil {
				return fmt.Errorf("malformed message: %s", part)
			}
			m, c.InPart = Message{name[1]: nil}, true
		}
		simplify(m)
		c.Messages = append(c.Messages, m)
	}
	return nil
}

// simplify removes the fields that only name the field that a oneof has.
func simplify(m map[string]any) {
	maps.DeleteFunc(m, func(name string, value any) bool {
		text, ok := value.(string)
		_, names := m[text]
		return ok && (names || name == "position" && text == "P")
	})
	for _, value := range m {
		list, _ := value.([]any)
		for _, each := range append(list, value) {
			if inner, ok := each.(map[string]any); ok {
				simplify(inner)
			}
		}
	}
}
