package robots

import "time"

// Judgement judges the clicks up to a time by the words of a table, in place of the verdicts that
// they were recorded with. A nil *Judgement judges none.
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
