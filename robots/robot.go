package robots

import "strings"

const (
	// MaxLength is how many bytes of an agent are read.
	MaxLength = 512
	// maxSpans is how many words of the section people are looked at in one agent.
	maxSpans = 32
)

// verdict is what the words of the sections robots and people say of an agent.
type verdict int

const (
	saysNothing verdict = iota // the agent has none of these words
	saysPerson
	saysRobot
)

// IsRobot reports whether an agent belongs to a program that fetches addresses by itself, and not
// to a person. An agent with a word of the section robots is a robot's, unless the word stands
// within a longer word of the section people, such as bot in Cubot. Any other agent is a person's
// if it has a word of the section people, or the system and the engine of a browser. All remaining
// agents are robots'.
func (t *Table) IsRobot(agent string) bool {
	agent = lower(agent)
	switch t.judge(agent) {
	case saysRobot:
		return true
	case saysPerson:
		return false
	default:
		return !t.isBrowser(agent)
	}
}

// LooksHuman reports whether an agent would be a person's if the section robots of the table
// were empty.
func (t *Table) LooksHuman(agent string) bool {
	agent = lower(agent)
	return t.people.has(agent) || t.isBrowser(agent)
}

// judge returns what the words of the sections robots and people say of a text in lower case.
func (t *Table) judge(text string) verdict {
	var found [maxSpans]span
	human := found[:0]
	t.people.find(text, func(s span) bool {
		human = append(human, s)
		return len(human) < maxSpans
	})
	robot := false
	t.robots.find(text, func(s span) bool {
		robot = !within(s, human)
		return !robot
	})
	switch {
	case robot:
		return saysRobot
	case len(human) > 0:
		return saysPerson
	}
	return saysNothing
}

// isBrowser reports whether an agent in lower case has the system and the engine of a browser.
func (t *Table) isBrowser(agent string) bool {
	return t.engines.has(agent) && t.systems.has(agent)
}

func lower(agent string) string { return strings.ToLower(agent[:min(len(agent), MaxLength)]) }

// within reports whether one of others contains the span s.
func within(s span, others []span) bool {
	for _, other := range others {
		if other.from <= s.from && s.to <= other.to {
			return true
		}
	}
	return false
}
