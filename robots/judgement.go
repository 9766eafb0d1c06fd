package robots

import "time"

// Judgement replaces the recorded verdicts of the clicks before a time. It judges these clicks
// again by the words of a table. A nil *Judgement replaces no verdicts.
type Judgement struct {
	Words *Table
	Until time.Time // clicks of that time and later keep their verdicts
}

// IsRobot reports whether the sender of a click is a robot. at is the time of the click. program,
// robot and human are as for Table.Rejudge, so robot is the recorded verdict.
func (j *Judgement) IsRobot(at time.Time, program string, robot, human bool) bool {
	if j == nil || !at.Before(j.Until) {
		return robot
	}
	return j.Words.Rejudge(program, robot, human)
}
