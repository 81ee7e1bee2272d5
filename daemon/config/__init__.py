"""The configuration: one YAML file, checked whole.

- `settings`: the whole of it
- `mqtt`, `http`, `robot`: its sections
- `client`: what a client needs of it
- `types`: kinds of values, and places to listen at
- `certificates`: until when certificates are valid
- `tls_files`: whether certificates and keys can be used
- `secrets`: where passwords are, and how they are kept out of messages
- `state_folder`: where the daemon keeps what outlasts it
- `described`: describes options in the JSON schema
- `section`: what a section is, and what is raised where one is wrong
- `yaml_file`: reads YAML into checked sections
"""
