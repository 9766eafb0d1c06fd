package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// object is a decoded JSON object or form, by name. Its readers return nil for what is absent or null, which mean the
// same. The first value of a wrong type is kept in err.
type object struct {
	path   string // where the object is in the payload, as a prefix of its fields' names
	values map[string]any
	err    error
}

func (o *object) refuse(name, needed string) {
	if o.err == nil {
		o.err = wrongInput("%s%s must be %s", o.path, name, needed)
	}
}

// isNull tells whether a field is given as null.
func (o *object) isNull(name string) bool {
	value, given := o.values[name]
	return given && value == nil
}

func (o *object) text(name string) *string {
	switch value := o.values[name].(type) {
	case nil:
		return nil
	case string:
		return &value
	case texts:
		if len(value) == 1 {
			return &value[0]
		}
	}
	o.refuse(name, "a string")
	return nil
}

func (o *object) boolean(name string) *bool {
	switch value := o.values[name].(type) {
	case nil:
		return nil
	case bool:
		return &value
	case texts:
		if len(value) != 1 {
			break
		}
		switch value[0] {
		case "1", "true":
			return new(true)
		case "0", "false":
			return new(false)
		}
	}
	o.refuse(name, "true or false")
	return nil
}

func (o *object) integer(name string) *int64 {
	var digits string
	switch value := o.values[name].(type) {
	case nil:
		return nil
	case json.Number:
		digits = value.String()
	case texts:
		if len(value) == 1 {
			digits = value[0]
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		o.refuse(name, "an integer")
		return nil
	}
	return &n
}

func (o *object) list(name string) []string {
	switch value := o.values[name].(type) {
	case nil:
		return nil
	case texts:
		return value
	case []any:
		list := make([]string, len(value))
		for i := range value {
			item := object{path: o.path, values: map[string]any{name: value[i]}}
			text := item.text(name)
			if text == nil {
				o.refuse(fmt.Sprintf("%s[%d]", name, i), "a string")
				return nil
			}
			list[i] = *text
		}
		return list
	}
	o.refuse(name, "an array of strings")
	return nil
}

func (o *object) objects(name string) []object {
	value, given := o.values[name]
	if !given || value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		o.refuse(name, "an array of objects")
		return nil
	}
	objects := make([]object, len(list))
	for i := range list {
		values, ok := list[i].(map[string]any)
		if !ok {
			o.refuse(fmt.Sprintf("%s[%d]", name, i), "an object")
			return nil
		}
		objects[i] = object{path: fmt.Sprintf("%s%s[%d].", o.path, name, i), values: values}
	}
	return objects
}
