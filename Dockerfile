# The explorer on a table of yours:
#   docker build -t xcid .
#   docker run --rm --network host -v "$PWD:/data:ro" xcid --reference table.csv --target COLUMN
# It prints the address to open. The app answers on 127.0.0.1 only (SECURITY.md), hence the network of the host.
FROM python:3.13-slim
COPY pyproject.toml README.md LICENSE hatch_build.py /xcid/
COPY src /xcid/src
RUN pip install --no-cache-dir "/xcid[app]" && rm -r /xcid && useradd --create-home reader
USER reader
WORKDIR /data
ENTRYPOINT ["xcid", "app"]
CMD ["--demo", "heart"]
