"""The progress of a simulated swarm over time, as an SVG: nothing is needed to draw it."""

from shoal.mesh.simulator import Outcome

WIDTH, HEIGHT, EDGE = 720, 360, 48
MOST_POINTS = 600
STYLE = (
    "text{font:13px sans-serif;fill:#444} .axis{stroke:#999} .bound{stroke:#c33;stroke-dasharray:5 4} "
    ".line{fill:none;stroke:#2668b0;stroke-width:2}"
)


def draw(outcome: Outcome) -> str:
    """The share of all copies that are there, with the bound as a line that nothing can be left of."""
    longest = max(outcome.makespan, outcome.world.bound)
    points = outcome.progress[:: max(1, len(outcome.progress) // MOST_POINTS)] + outcome.progress[-1:]

    def x(moment: float) -> float:
        return EDGE + moment / longest * (WIDTH - 2 * EDGE)

    def y(share: float) -> float:
        return HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE)

    line = " ".join(f"{x(moment):.1f},{y(share):.1f}" for moment, share in [(0.0, 0.0), *points])
    bound = x(outcome.world.bound)
    world = outcome.world
    title = f"{world.servers} servers, {world.shards} shards: {outcome.makespan:g} units"
    title += f", bound {world.bound:g}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            f'<text x="{EDGE}" y="24">{title}</text>',
            f'<path class="axis" d="M{EDGE} {EDGE}V{y(0)}H{WIDTH - EDGE}" fill="none"/>',
            f'<text x="6" y="{y(1) + 4}">100 %</text><text x="18" y="{y(0)}">0 %</text>',
            f'<text x="{x(longest) - 40:.0f}" y="{HEIGHT - 24}">{longest:g}</text>',
            f'<line class="bound" x1="{bound:.1f}" x2="{bound:.1f}" y1="{EDGE}" y2="{y(0)}"/>',
            f'<polyline class="line" points="{line}"/>',
            "</svg>\n",
        ]
    )
