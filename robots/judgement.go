package robots

import "time"

// Judgement judges the clicks before a time by the words of a table, and ignores their recorded
// verdicts. A nil *Judgement judges no clicks.
type Judgement struct {
	Words *Table
	Until time.Time // clicks of that time and later keep their verdicts
}

// IsRobot reports whether the sender of a click is a robot. robot is the recorded verdict; program,
// robot and human are as for Table.Rejudge.
func (j *Judgement) IsRobot(at time.Time, program string, robot, human bool) bool {
	if j == nil || !at.Before(j.Until) {
		return robot
	}
	return j.Words.Rejudge(program, robot, human)
}
