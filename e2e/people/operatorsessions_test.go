package people_test

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/sitetest"
)

// listedSession is a session as console session list prints it.
type listedSession struct {
	ID       string `json:"id"`
	Operator bool   `json:"operator"`
	User     string `json:"user"`
	UserName string `json:"user_name"`
}

// endOperators takes the role of operators by a sign-in, and ends their sessions by commands.
func endOperators(s *sitetest.Site) {
	ops := sitetest.Person("oscar", "Oscar", "ops")
	first, second := s.SignIn(ops), s.SignIn(ops)
	ops.Groups = nil
	third := s.SignIn(ops)
	for _, in := range []sitetest.SignedIn{first, second, third} {
		for node := range 2 {
			if session := in.Must(node, "GET", "/session", "")["session"].(map[string]any); session["operator"] != false {
				s.T.Errorf("after a sign-in without the group, node %d has %v", node, session)
			}
		}
	}
	other := s.SignIn(sitetest.Person("oda", "Oda", "ops"))
	session := other.Session["id"].(string)
	var listed []listedSession
	readOutput(s, &listed, "console", "session", "list", "--json")
	at := slices.IndexFunc(listed, func(l listedSession) bool { return l.ID == session })
	if at < 0 || !listed[at].Operator || listed[at].User != other.ID || listed[at].UserName != "Oda" || len(listed) < 4 {
		s.T.Errorf("listed are %+v", listed)
	}
	if table := runOperator(s, "console", "session", "list"); !strings.Contains(table, session) {
		s.T.Errorf("the table lacks the session:\n%s", table)
	}
	runOperator(s, "console", "session", "end", session)
	sessionEnded(other, 0, 1)
	first.Must(1, "GET", "/session", "")
	for _, id := range []string{session, uuid.NewString(), "x"} {
		out, log, code := s.Operate("console", "session", "end", id, siteMaster)
		if code != e2etest.ExitUsage || !strings.Contains(log, "console session list shows the ids") {
			s.T.Errorf("to end %s ended with %d: %s%s", id, code, out, log)
		}
	}
}
