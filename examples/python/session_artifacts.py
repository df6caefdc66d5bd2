"""A session over HTTP: code, shell and files in one workspace, and the artifacts of runs."""
import cloche

with cloche.start() as server, server.client() as client:
    # All calls with one session id use the same workspace.
    session = {"session_id": "conversation-1"}
    client.write("data.csv", "day,visits\nmon,3\ntue,5\n", **session)
    made = client.execute("import csv\n"
                          "rows = list(csv.DictReader(open('data.csv')))\n"
                          "open('report.txt', 'w').write(f'{sum(int(row[\"visits\"]) for row in rows)} visits\\n')\n",
                          **session)
    for artifact in made.artifacts:
        print(artifact.path, artifact.size, artifact.read().decode().strip())

    print(client.bash("ls; wc -l < data.csv", **session).stdout, end="")
    print(client.glob("*.txt", **session), [(found.path, found.line) for found in client.grep("tue", **session)])
    client.end_session("conversation-1")
    print("conversation-1" in [each.session_id for each in client.sessions()])

# Prints:
#
#   report.txt 9 8 visits
#   data.csv
#   report.txt
#   3
#   ['report.txt'] [('data.csv', 3)]
#   False
