package agent

import "strings"

// maxSpans is how many words of people are looked at in one agent.
const maxSpans = 32

// IsRobot reports whether an agent is that of a program that fetches addresses by itself, and not
// that of a person. An agent with a word of robots is a robot's, unless the word stands within a
// longer word of people, such as bot in Cubot. An agent without is a person's if it has a word of
// people, or the system and the engine that browsers name. All others are robots'.
func (t *Table) IsRobot(agent string) bool {
	agent = strings.ToLower(agent[:min(len(agent), MaxLength)])
	var found [maxSpans]span
	human := found[:0]
	t.people.find(agent, func(s span) bool {
		human = append(human, s)
		return len(human) < maxSpans
	})
	robot := false
	t.robots.find(agent, func(s span) bool {
		robot = !within(s, human)
		return !robot
	})
	if robot || len(human) > 0 {
		return robot
	}
	return !t.engines.has(agent) || !t.systems.has(agent)
}

// within reports whether a span stands within one of others.
func within(s span, others []span) bool {
	for _, other := range others {
		if other.from <= s.from && s.to <= other.to {
			return true
		}
	}
	return false
}
