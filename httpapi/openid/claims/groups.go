package claims

import (
	"encoding/json"
	"slices"
)

// addGroups adds the wanted groups in a claim to a person. The number and the names of other groups
// have no effect. If the claim is malformed, the groups are unknown, which is not the same as none.
// They are also unknown if the issuer says that it leaves the claim out, as Entra does for members
// of many groups. If the claim is missing for no stated reason, the person is in no group, because
// Entra and Okta send no claim about such a person.
func (c Claims) addGroups(to *Person, claim string, wanted []string) {
	stated := orNull(c[claim])
	var elements []json.RawMessage
	switch group, isText := textOf(stated); {
	case string(stated) == "null" && c.elsewhere(claim):
		to.GroupsUnknown = "the issuer names another place where claim " + claim + " is"
	case string(stated) == "null" && c.isTrue("hasgroups"):
		to.GroupsUnknown = "the issuer says that there are groups, and not which"
	case string(stated) == "null":
		to.GroupsMissing = true
	case isText:
		to.Groups = among(wanted, group)
	case json.Unmarshal(stated, &elements) == nil:
		groups := make([]string, 0, len(elements))
		for _, element := range elements {
			if group, isText := textOf(element); isText {
				groups = append(groups, group)
			}
		}
		to.Groups = among(wanted, groups...)
	default:
		to.GroupsUnknown = "claim " + claim + " is neither a list nor a text"
	}
}

// textOf returns the text of a JSON string, or false if the value is not a string.
func textOf(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}

// among returns the wanted groups that are in groups, in the order of wanted.
func among(wanted []string, groups ...string) (found []string) {
	for _, group := range wanted {
		if slices.Contains(groups, group) {
			found = append(found, group)
		}
	}
	return found
}

// elsewhere reports whether the issuer says that a claim is at another place (OpenID Connect Core
// 1.0, section 5.6.2). Nothing is fetched from there, because Entra's place needs a token of its
// own.
func (c Claims) elsewhere(claim string) bool {
	var places map[string]json.RawMessage
	return json.Unmarshal(orNull(c["_claim_names"]), &places) == nil && places[claim] != nil
}

// isTrue reports whether a claim is true. Some issuers send "true" as a text.
func (c Claims) isTrue(name string) bool {
	stated := string(c[name])
	return stated == "true" || stated == `"true"`
}
