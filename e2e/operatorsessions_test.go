package e2e

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// listedSession is a session as console session list prints it.
type listedSession struct {
	ID       string `json:"id"`
	Operator bool   `json:"operator"`
	User     string `json:"user"`
	UserName string `json:"user_name"`
}

// endOperators takes the role of operators by a sign-in, and ends their sessions by commands.
func endOperators(s *site) {
	ops := person("oscar", "Oscar", "ops")
	first, second := s.signIn(ops), s.signIn(ops)
	ops.Groups = nil
	third := s.signIn(ops)
	for _, in := range []signedIn{first, second, third} {
		for node := range 2 {
			if session := in.must(node, "GET", "/session", "")["session"].(map[string]any); session["operator"] != false {
				s.t.Errorf("after a sign-in without the group, node %d has %v", node, session)
			}
		}
	}
	other := s.signIn(person("oda", "Oda", "ops"))
	session := other.session["id"].(string)
	var listed []listedSession
	readOutput(s, &listed, "console", "session", "list", "--json")
	at := slices.IndexFunc(listed, func(l listedSession) bool { return l.ID == session })
	if at < 0 || !listed[at].Operator || listed[at].User != other.id || listed[at].UserName != "Oda" || len(listed) < 4 {
		s.t.Errorf("listed are %+v", listed)
	}
	if table := runOperator(s, "console", "session", "list"); !strings.Contains(table, session) {
		s.t.Errorf("the table lacks the session:\n%s", table)
	}
	runOperator(s, "console", "session", "end", session)
	sessionEnded(other, 0, 1)
	first.must(1, "GET", "/session", "")
	for _, id := range []string{session, uuid.NewString(), "x"} {
		out, log, code := s.operate("console", "session", "end", id, siteMaster)
		if code != exitUsage || !strings.Contains(log, "console session list shows the ids") {
			s.t.Errorf("to end %s ended with %d: %s%s", id, code, out, log)
		}
	}
}
