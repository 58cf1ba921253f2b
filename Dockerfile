# The program in an image: slim, without a compiler, without root, and at work without a network. For CPUs.
#
#   docker build -t vastsum .                                     what summarising needs
#   docker build -t vastsum-studio --build-arg EXTRAS='[serve]' . the studio too
#   docker run --rm --network none -v "$PWD:/videos" vastsum summarize holiday.mp4
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY share share
COPY src src
ARG EXTRAS=""
RUN python -m venv /opt/vastsum \
    && /opt/vastsum/bin/pip install --no-cache-dir --constraint constraints.txt ".${EXTRAS}"

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="VASTSum" \
      org.opencontainers.image.description="Any video in, a summary out" \
      org.opencontainers.image.licenses="MIT"
RUN useradd --create-home --uid 10001 vastsum \
    && install --directory --owner vastsum /videos /home/vastsum/.vastsum
COPY --from=build /opt/vastsum /opt/vastsum
ENV PATH="/opt/vastsum/bin:${PATH}" \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /videos
EXPOSE 8000
ENTRYPOINT ["vastsum"]
CMD ["--help"]
