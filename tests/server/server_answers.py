"""What several tests of the server share."""

JSON = {"Content-Type": "application/json"}


def refused(client, path, body):
    """Status and error of a request that must not be answered 200."""
    answer = client.post(path, content=body, headers=JSON)
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, answer.json()["error"]
