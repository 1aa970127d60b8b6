package config

import "slices"

// AdminListen returns what Load would as admin.listen of the file at path, for those
// who only ask a running process. All other keys may be wrong, or refer to variables
// that are not set here: they are not judged. The error is an *Error.
func AdminListen(path string, environ []string) (string, error) {
	data, err := read(path)
	if err != nil {
		return "", &Error{Problems: []Problem{{File: path, Text: err.Error()}}}
	}
	l := &loader{file: path, env: newEnvironment(environ)}
	root := l.readYAML(data)
	if root == nil {
		return "", l.err()
	}
	const key = "admin"
	l.problems = slices.DeleteFunc(l.problems, func(p Problem) bool { return !within(p.Key, key) })
	l.root = &node{line: root.line, value: mapping{}}
	if admin := root.child(key); admin != nil {
		l.root.value = mapping{key: admin}
	}
	l.checkKeys(l.root, schema)
	if value := l.env.values[variable("admin.listen")]; value != "" {
		l.root.set("admin.listen", variable("admin.listen"), value)
	}
	cfg := l.decode()
	l.reportAll("admin.", cfg.Admin.Validate())
	if err := l.err(); err != nil {
		return "", err
	}
	return cfg.Admin.Listen, nil
}
