package tags

// This file explains the filters by tags.

import "linkledger/httpapi/console/page"

// filterRow is a filter by tags and a description of the links that it finds.
type filterRow struct{ Filter, Finds string }

// filterRows returns examples of filters that show each operator and each word.
func filterRows() []filterRow {
	return []filterRow{
		{"news", "links that have the tag news"},
		{`"red tape"`, "a tag with blanks or signs stands in quotes"},
		{"~old", "links that do not have the tag old"},
		{"news&~old", "both: the tag news, and not the tag old"},
		{"news^spring", "one of the two tags, but not both"},
		{"news|spring", "at least one of the two tags"},
		{"(news|spring)&~old", "what stands in brackets counts first, then &, then ^, then |"},
		{"archived", "links that are archived"},
		{"protected", "links that are protected from deletion"},
		{"~visited", "links without visits"},
		{">2026-01-31", "links that were made after this day, UTC"},
		{"news&<2026-02-01", "links with the tag news that were made before this day, UTC"},
	}
}

func filters(p *page.Page) error {
	p.Title = "Filters by tags"
	p.Data = filterRows()
	return nil
}
