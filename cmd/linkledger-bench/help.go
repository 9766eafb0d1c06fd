package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// helpTexts are the parts of tags that are too long for the tag of their field. A tag names its
// text as ${NAME}.
var helpTexts = kong.Vars{
	// measureCommand.
	"results": "Markdown file whose part between the markers is replaced by the report, unless " +
		"--short or --only is given.",
	"folder": "Folder for the data of the run, some GB: choose a disk like the one in production.",
	"former": "Older program that takes the place of the control in creates and redirects, so " +
		"that both take turns in one run.",
	"accounts": "Accounts whose keys take turns in the measurement of creates.",
	"parts":    strings.Join(parts, ","),
	"short": "Measure everything briefly with few links. This shows that the program works; the " +
		"figures say nothing.",
}
