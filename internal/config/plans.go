package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"linkledger/commands/domain"
)

// Plans are the limits of accounts by plan.
type Plans struct {
	ByName map[string]domain.Plan
	text   string // as it was given
}

// String implements fmt.Stringer.
func (p Plans) String() string { return p.text }

var planName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// UnmarshalText reads plans in the form "free:urls=100,day-calls=1000;pro:urls=10000".
func (p *Plans) UnmarshalText(text []byte) error {
	p.ByName, p.text = make(map[string]domain.Plan), string(text)
	for entry := range strings.SplitSeq(string(text), ";") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, limits, found := strings.Cut(entry, ":")
		name = strings.TrimSpace(name)
		if !found || !planName.MatchString(name) {
			return fmt.Errorf("%q is no plan: give NAME:urls=N,month-urls=N,day-calls=N", entry)
		}
		if _, twice := p.ByName[name]; twice {
			return fmt.Errorf("plan %q is given twice", name)
		}
		plan, err := parsePlan(limits)
		if err != nil {
			return fmt.Errorf("plan %q: %w", name, err)
		}
		p.ByName[name] = plan
	}
	return nil
}

// parsePlan reads limits in the form "urls=100,day-calls=1000".
func parsePlan(limits string) (domain.Plan, error) {
	var plan domain.Plan
	fields := map[string]*int64{
		"urls": &plan.URLs, "month-urls": &plan.MonthURLs, "day-calls": &plan.DayCalls,
	}
	for limit := range strings.SplitSeq(limits, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(limit), "=")
		field, known := fields[name]
		if !known {
			return domain.Plan{}, fmt.Errorf(
				"%q is no limit: choose from urls=N, month-urls=N, day-calls=N, each once", limit,
			)
		}
		delete(fields, name)
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return domain.Plan{}, fmt.Errorf(
				"%q: give a number from 1, or leave the limit out", limit,
			)
		}
		*field = n
	}
	return plan, nil
}
