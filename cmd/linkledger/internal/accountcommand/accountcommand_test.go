package accountcommand_test

import (
	"regexp"
	"strings"
	"testing"

	"linkledger/cmd/linkledger/internal/accountcommand"
	"linkledger/cmd/linkledger/internal/command/commandtest"
	"linkledger/internal/installation/installationtest"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

func root() any {
	return new(struct {
		Account accountcommand.Account `cmd:""`
		Person  accountcommand.Person  `cmd:""`
		Console accountcommand.Console `cmd:""`
	})
}

// TestAccounts runs each command on accounts and persons.
func TestAccounts(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	c := commandtest.New(t, root, accountcommand.HelpTexts, i)
	c.Prints("account create --username ada --plan pro", "ada", "pro", "API key")
	c.Prints("account list", "ada", "acme")
	c.Prints("account edit --username ada --plan free --expires 2999-01-31", "free", "2999-01-31")
	c.Prints("account edit --username ada --plan pro", "pro", "2999-01-31")
	c.Prints("account edit --username ada --plan free")
	c.Prints("account show --username ada --json", `"plan":"free"`, `"urls":0`)
	c.Prints("account rotate-key --username ada", "API key")
	added := c.Prints("account key add --username ada --name ci --scopes links:read,stats:read --tags +news "+
		"--networks 192.0.2.0/24 --expires 2999-02-28", "ci", "links:read, stats:read", "+news", "192.0.2.0/24", "2999-02-28")
	c.Prints("account key list --username ada", "ci", "+news")
	id := regexp.MustCompile(`id\s+\W*\s*([0-9a-z-]+)`).FindStringSubmatch(added)[1]
	c.Prints("account key revoke --username ada "+id, "the key "+id+" of ada is revoked")
	person := i.Known("Eve")
	c.Prints("person list", person, "Eve")
	c.Prints("account member set --username ada "+person+" editor", person+" is editor of ada")
	c.Prints("account member list --username ada", person, "editor")
	c.Prints("account member remove --username ada "+person, person+" is no member of ada any more")
	c.Prints("account deactivate --username ada --json", `"active":false`)
	c.Prints("account reactivate --username ada --json", `"active":true`)
	c.Prints("account erase ada --json", `"erased":true`)
	c.Prints("person erase "+person, "the person "+person+" is erased")
	if out := c.Prints("person list"); strings.Contains(out, person) {
		t.Errorf("an erased person is listed\n%s", out)
	}
}

// TestConsole makes links that sign in, and lists and ends sessions.
func TestConsole(t *testing.T) {
	t.Parallel()
	c := commandtest.New(t, root, accountcommand.HelpTexts, installationtest.New(t))
	c.Prints("console link --operator --base-url https://sho.rt", "https://sho.rt/console/sign-in/", "It works once")
	c.Prints("console link --username acme --valid-for 24h --base-url https://sho.rt", "https://sho.rt/console/sign-in/")
	c.Prints("console session list", "id", "browser")
	c.Refuses("console session end none", `there is no session "none"`)
}

// TestRefusals checks what is refused before any installation is asked.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := commandtest.New(t, root, accountcommand.HelpTexts, nil)
	c.Refuses("account edit --username ada", "nothing to change")
	c.Refuses("console link", "the link needs an account or a role")
	c.Refuses("console link --operator --valid-for 0s", "--valid-for must be")
	c.Refuses("console link --operator --valid-for 24h1s", "--valid-for must be")
	if _, err := c.Run("account create"); err == nil || !strings.Contains(err.Error(), "--username") {
		t.Errorf("an account without a name: %v", err)
	}
}
