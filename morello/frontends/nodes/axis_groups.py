"""Groups of axes by which two shapes hold the same elements: `axis_groups`."""


def axis_groups(
    old_shape: tuple[int, ...], new_shape: tuple[int, ...]
) -> list[tuple[list[int], list[int]]]:
    """Minimal groups of axes of two shapes, so that groups of both hold the same
    elements."""
    groups: list[tuple[list[int], list[int]]] = []
    old, new = 0, 0
    while old < len(old_shape) or new < len(new_shape):
        olds: list[int] = []
        news: list[int] = []
        one, other = 1, 1
        while not (olds and news and one == other):
            if old < len(old_shape) and (one <= other or new == len(new_shape)):
                olds.append(old)
                one *= old_shape[old]
                old += 1
            elif new < len(new_shape):
                news.append(new)
                other *= new_shape[new]
                new += 1
            else:
                break
        groups.append((olds, news))
    return groups
