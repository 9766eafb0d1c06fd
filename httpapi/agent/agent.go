// Package agent reads User-Agent headers: whether a person or a robot sends them, and the browser,
// system and class of device of a person.
package agent

import (
	"slices"

	"github.com/mileusna/useragent"

	"linkledger/robots"
)

// MaxLength is how many bytes of a User-Agent header are read.
const MaxLength = robots.MaxLength

const (
	deviceDesktop = "desktop"
	deviceMobile  = "mobile"
	deviceTablet  = "tablet"
)

// browsers and systems are the names that clicks may carry. Other names are not stored, because a
// client can send any text.
var (
	browsers = []string{
		useragent.Chrome, useragent.HeadlessChrome, useragent.Firefox, useragent.Safari,
		useragent.Edge, useragent.Opera, useragent.OperaMini, useragent.OperaTouch,
		useragent.Vivaldi, useragent.InternetExplorer, useragent.SamsungBrowser,
	}
	systems = []string{
		useragent.Windows, useragent.WindowsPhone, useragent.Android, useragent.MacOS,
		useragent.IOS, useragent.Linux, useragent.FreeBSD, useragent.ChromeOS, useragent.Harmony,
	}
)

// Agent is what a User-Agent header says.
type Agent struct {
	// Robot is true if a program, such as a crawler or a preview, sends the header of its own
	// accord.
	Robot               bool
	Browser, OS, Device string // from a small set of names; empty: unknown
	// Program is the part of the header that a click keeps, so that another table can judge the
	// click later: see robots.Table.Program.
	Program string
}

// Read reads a User-Agent header by the words of a table. For a robot, Browser, OS and Device are
// set only if the header would be a person's without the words of robots in it.
func Read(table *robots.Table, header string) (a Agent) {
	robot := table.IsRobot(header)
	if !robot || table.LooksHuman(header) {
		a = Describe(header)
	}
	a.Robot = robot
	a.Program = table.Program(header, robot, a.OS != "")
	if a.Robot && a.Program == "" {
		return Agent{Robot: true}
	}
	return a
}

// Describe returns the browser, the system and the device that a User-Agent header names, also for
// a robot.
func Describe(header string) (a Agent) {
	parsed := useragent.Parse(header[:min(len(header), MaxLength)])
	if slices.Contains(browsers, parsed.Name) {
		a.Browser = parsed.Name
	}
	if slices.Contains(systems, parsed.OS) {
		a.OS = parsed.OS
	}
	switch {
	case parsed.Tablet:
		a.Device = deviceTablet
	case parsed.Mobile:
		a.Device = deviceMobile
	case parsed.Desktop:
		a.Device = deviceDesktop
	}
	return a
}

// String returns browser and system as people read them, such as Firefox on Linux. It is empty if
// both are unknown.
func (a Agent) String() string {
	if a.Browser != "" && a.OS != "" {
		return a.Browser + " on " + a.OS
	}
	return a.Browser + a.OS
}
