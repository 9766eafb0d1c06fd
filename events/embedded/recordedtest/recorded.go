// Package recordedtest has recorded responses of real EventStoreDB servers to regular and malformed
// calls, and their dialects.
package recordedtest

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

//go:embed *.txt
var files embed.FS

// Message is a message of a server in JSON. It has no names of oneofs. Positions are replaced by P,
// ids by U and times by T. If a message was recorded in part, its Message has only the name of its
// first field.
type Message map[string]any

// Case is one recorded call.
type Case struct {
	Number   int
	Name     string
	Messages []Message
	InPart   bool   // a message was recorded in part
	Status   string // gRPC code of an error; DEADLINE_EXCEEDED if the server never responded
	Details  string
	Trailers map[string]string
}

// Silent reports whether the server did not complete the call.
func (c Case) Silent() bool { return c.Status == "DEADLINE_EXCEEDED" }

var (
	line      = regexp.MustCompile(`^ *(\d+) ([^:]+): (.*)$`)
	failed    = regexp.MustCompile(`^([A-Z_]+) \| (.*) \| (.*)$`)
	unquoted  = regexp.MustCompile(`:([UN])([,}])`)
	firstName = regexp.MustCompile(`^"?\{\\?"(\w+)`)
)

// Load returns the recorded calls to a version of the server, by their numbers.
func Load(version Version) (map[int]Case, error) {
	text, err := files.ReadFile(string(version) + ".txt")
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
			// some trailers were recorded in part
			_ = json.Unmarshal([]byte(status[3]), &c.Trailers)
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

// simplify removes the fields whose value is only the name of the field that is set in a oneof.
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
