"""The configuration: one YAML file, checked whole.

- `settings`: the whole of it
- `mqtt`, `home_assistant`, `http`, `robot`: its sections
- `client`: what a client needs of it
- `listening`: places to listen at, as they are written
- `types`: kinds of values
- `certificates`: until when certificates are valid
- `tls_files`: whether certificates and keys can be used
- `secrets`: where passwords are, and how they are kept out of messages
- `described`: describes options in the JSON schema
- `section`: what a section is, and what is raised where one is wrong
- `yaml_file`: reads YAML into checked sections
"""
