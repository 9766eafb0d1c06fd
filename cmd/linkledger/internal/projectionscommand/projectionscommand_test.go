package projectionscommand_test

import (
	"strings"
	"testing"

	"linkledger/cmd/linkledger/internal/command/commandtest"
	"linkledger/cmd/linkledger/internal/projectionscommand"
	"linkledger/internal/installation/installationtest"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

func root() any {
	return new(struct {
		Projections projectionscommand.Projections `cmd:""`
	})
}

// TestProjections runs each command on an installation.
func TestProjections(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	c := commandtest.New(t, root, projectionscommand.HelpTexts, i)
	c.Prints("projections list", "links", "history")
	c.Prints("projections status", "links", "live")
	c.Prints("projections pause tags")
	c.Prints("projections status", "paused")
	c.Prints("projections resume tags")
	if out := c.Prints("projections status"); strings.Contains(out, "paused") {
		t.Errorf("tags is still paused\n%s", out)
	}
	c.Prints("projections verify tags", "tags")
	c.Prints("projections rebuild tags --connections 8")
	c.Prints("projections rollback tags")
	c.Prints("projections prune --all")

	stream := i.Poison()
	c.Prints("projections dead-letters", stream)
	c.Prints("projections dead-letters list tags", stream)
	if out := c.Prints("projections dead-letters list links"); strings.Contains(out, stream) {
		t.Errorf("links has set aside an event of %s\n%s", stream, out)
	}
	if _, err := c.Run("projections dead-letters retry tags --stream " + stream); err == nil {
		t.Error("an event that cannot be applied is retried")
	}
	c.Prints("projections dead-letters discard tags --stream " + stream)
	c.Prints("projections dead-letters discarded tags", stream)
	c.Prints("projections dead-letters restore tags --stream " + stream)
	if out := c.Prints("projections dead-letters discarded"); strings.Contains(out, stream) {
		t.Errorf("a discard that was taken back is listed\n%s", out)
	}
}

// TestRefusals checks what is refused before any installation is asked.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := commandtest.New(t, root, projectionscommand.HelpTexts, nil)
	c.Refuses("projections status --interval 99ms", "--interval")
	for _, command := range []string{"verify", "rebuild", "prune"} {
		c.Refuses("projections "+command, "give the name of one projection, or --all")
		c.Refuses("projections "+command+" links --all", "give the name of one projection, or --all")
	}
	c.Refuses("projections rebuild links --connections 7", "--connections must be 8 to 100")
	c.Refuses("projections rebuild links --connections 101", "--connections must be 8 to 100")
}
